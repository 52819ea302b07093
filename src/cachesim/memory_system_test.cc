#include "cachesim/memory_system.h"

#include <gtest/gtest.h>

namespace wavetap::cachesim {
namespace {

// An L2 of 64 KiB, without an Infinity Cache unless one is given.
MemoryCounters pass_twice(uint64_t bytes, uint64_t l3_bytes) {
  Geometry geometry;
  geometry.l2_bytes = 64 << 10;
  geometry.l3_bytes = l3_bytes;
  MemorySystem memory(geometry);
  MemoryCounters counters;
  SiteCounts site;
  for (int pass = 0; pass < 2; ++pass) {
    for (uint64_t sector = 0; sector < bytes / kSectorBytes; ++sector) {
      AccessStream::Item item;
      item.request = Request::kLoad;
      item.run_count = 1;
      item.runs[0] = {.first = sector, .count = 1, .bytes = kSectorBytes};
      memory.access(0, item, counters, site);
    }
  }
  memory.finish(counters);
  return counters;
}

TEST(MemorySystem, WhatNoCacheKeptIsReadAgain) {
  const MemoryCounters kept = pass_twice(32 << 10, 0);
  EXPECT_EQ(kept.dram_read_bytes, 32u << 10);
  EXPECT_EQ(kept.dram_again_bytes, 0u);
  const MemoryCounters lost = pass_twice(1 << 20, 0);
  EXPECT_EQ(lost.dram_read_bytes, 2u << 20);
  EXPECT_EQ(lost.dram_again_bytes, 1u << 20);
  const MemoryCounters kept_below = pass_twice(1 << 20, 4 << 20);
  EXPECT_EQ(kept_below.fabric_read_bytes, 2u << 20);
  EXPECT_EQ(kept_below.dram_read_bytes, 1u << 20);
  EXPECT_EQ(kept_below.dram_again_bytes, 0u);
}

TEST(MemorySystem, ADispatchBeginsWithNothingRead) {
  MemorySystem memory(Geometry{});
  AccessStream::Item item;
  item.request = Request::kLoad;
  item.run_count = 1;
  item.runs[0] = {.first = 100, .count = 1, .bytes = kSectorBytes};
  SiteCounts site;
  for (int dispatch = 0; dispatch < 2; ++dispatch) {
    MemoryCounters counters;
    memory.clear();
    memory.access(0, item, counters, site);
    EXPECT_GT(counters.dram_read_bytes, 0u);
    EXPECT_EQ(counters.dram_again_bytes, 0u);
  }
}

}  // namespace
}  // namespace wavetap::cachesim
