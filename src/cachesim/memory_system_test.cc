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
    memory.begin();
    memory.access(0, item, counters, site);
    EXPECT_GT(counters.dram_read_bytes, 0u);
    EXPECT_EQ(counters.dram_again_bytes, 0u);
  }
}

// Dispatches that load or store one sector on a compute unit.
class Dispatches {
 public:
  Dispatches(const Geometry& geometry, Start start) : memory_(geometry, start) {}
  MemoryCounters run(Request request, uint32_t cu) {
    AccessStream::Item item;
    item.request = request;
    item.run_count = 1;
    item.runs[0] = {.first = 100, .count = 1, .bytes = kSectorBytes};
    SiteCounts site;
    MemoryCounters counters;
    memory_.begin();
    memory_.access(cu, item, counters, site);
    memory_.finish(counters);
    return counters;
  }

 private:
  MemorySystem memory_;
};

TEST(MemorySystem, AWarmL2HasWhatTheDispatchBeforeRead) {
  Dispatches warm(Geometry{}, Start::kWarm), cold(Geometry{}, Start::kCold);
  for (Dispatches* dispatches : {&warm, &cold}) {
    const MemoryCounters first = dispatches->run(Request::kLoad, 0);
    const MemoryCounters second = dispatches->run(Request::kLoad, 0);
    EXPECT_EQ(first.l2_misses, 1u);
    EXPECT_EQ(second.l2_misses, dispatches == &warm ? 0u : 1u);
    EXPECT_EQ(second.l1_read_misses, 1u) << "L1s are emptied between kernels";
  }
}

TEST(MemorySystem, AWarmL2WritesBackOnce) {
  Dispatches dispatches(Geometry{}, Start::kWarm);
  EXPECT_EQ(dispatches.run(Request::kStore, 0).fabric_write_bytes, kSectorBytes);
  const MemoryCounters after = dispatches.run(Request::kLoad, 0);
  EXPECT_EQ(after.fabric_write_bytes, 0u);
  EXPECT_EQ(after.l2_misses, 0u);
}

TEST(MemorySystem, WhatOneXccWroteLeavesTheL2OfOthers) {
  Geometry geometry;
  geometry.xccs = 2;
  geometry.l3_bytes = 4 << 20;
  const uint32_t other = geometry.cus_per_xcc;
  Dispatches dispatches(geometry, Start::kWarm);
  dispatches.run(Request::kLoad, other);
  EXPECT_EQ(dispatches.run(Request::kLoad, other).l2_misses, 0u);
  dispatches.run(Request::kStore, 0);
  const MemoryCounters after = dispatches.run(Request::kLoad, other);
  EXPECT_EQ(after.l2_misses, 1u);
  EXPECT_EQ(after.dram_read_bytes, 0u) << "the Infinity Cache has it";
}

}  // namespace
}  // namespace wavetap::cachesim
