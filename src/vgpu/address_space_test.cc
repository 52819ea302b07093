#include "vgpu/address_space.h"

#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

std::byte g_memory[0x10000];

TEST(AddressSpace, FindsTheRangeAroundAnAddress) {
  AddressSpace space;
  space.map(0x1000, 0x2000, g_memory, /*writable=*/true, /*executable=*/false);
  const emu::MappedRange range = space.lookup(GpuAddr{0x2fff});
  EXPECT_EQ(range.begin, 0x1000u);
  EXPECT_EQ(range.end, 0x3000u);
  EXPECT_EQ(range.host, g_memory);
  EXPECT_TRUE(range.writable);
  EXPECT_FALSE(range.executable);
  EXPECT_EQ(space.lookup(GpuAddr{0xfff}).end, 0u);
  EXPECT_EQ(space.lookup(GpuAddr{0x3000}).end, 0u);
}

TEST(AddressSpace, CutsOlderMappingsOnBothSides) {
  AddressSpace space;
  space.map(0x1000, 0x4000, g_memory, true, false);
  space.map(0x2000, 0x1000, g_memory + 0x8000, false, true);
  EXPECT_EQ(space.range_count(), 3u);
  EXPECT_EQ(space.lookup(GpuAddr{0x1fff}).end, 0x2000u);
  EXPECT_EQ(space.lookup(GpuAddr{0x2000}).host, g_memory + 0x8000);
  EXPECT_EQ(space.lookup(GpuAddr{0x3000}).host, g_memory + 0x2000);
  EXPECT_EQ(space.host_pointer(GpuAddr{0x4ffc}, 4, true), g_memory + 0x3ffc);
}

TEST(AddressSpace, UnmapsAcrossSeveralRanges) {
  AddressSpace space;
  for (uint64_t i = 0; i < 8; ++i) space.map(i * 0x1000, 0x1000, g_memory + i * 0x1000, true, true);
  EXPECT_TRUE(space.unmap(0x1800, 0x4000));
  EXPECT_EQ(space.lookup(GpuAddr{0x17ff}).end, 0x1800u);
  EXPECT_EQ(space.lookup(GpuAddr{0x1800}).end, 0u);
  EXPECT_EQ(space.lookup(GpuAddr{0x57ff}).end, 0u);
  EXPECT_EQ(space.lookup(GpuAddr{0x5800}).host, g_memory + 0x5800);
  EXPECT_FALSE(space.unmap(0x1800, 0x4000));
}

TEST(AddressSpace, MovesTheEpochOnlyWhenACachedRangeCouldBeStale) {
  AddressSpace space;
  const uint64_t start = space.epoch();
  space.map(0x1000, 0x1000, g_memory, true, false);
  space.map(0x2000, 0x1000, g_memory, true, false);
  space.unmap(0x8000, 0x1000);
  EXPECT_EQ(space.epoch(), start);
  space.map(0x1000, 0x1000, g_memory, false, false);
  EXPECT_EQ(space.epoch(), start + 1);
  space.unmap(0x2000, 0x1000);
  EXPECT_EQ(space.epoch(), start + 2);
}

TEST(AddressSpace, RefusesPointersAcrossTheEndOrWithoutTheRight) {
  AddressSpace space;
  space.map(0x1000, 0x1000, g_memory, /*writable=*/false, false);
  EXPECT_EQ(space.host_pointer(GpuAddr{0x1ff8}, 8, false), g_memory + 0xff8);
  EXPECT_EQ(space.host_pointer(GpuAddr{0x1ff9}, 8, false), nullptr);
  EXPECT_EQ(space.host_pointer(GpuAddr{0x1000}, 8, true), nullptr);
  EXPECT_EQ(space.host_pointer(GpuAddr{0x1000}, std::numeric_limits<uint64_t>::max(), false),
            nullptr);
}

TEST(AddressSpace, IgnoresEmptyAndWrappingRanges) {
  AddressSpace space;
  space.map(0x1000, 0, g_memory, true, true);
  space.map(~0ull - 0xfff, 0x2000, g_memory, true, true);
  EXPECT_EQ(space.range_count(), 0u);
  space.map(0x1000, 0x1000, g_memory, true, true);
  space.unmap(0, ~0ull);
  EXPECT_EQ(space.range_count(), 0u);
}

TEST(AddressSpace, NamesTheNearestMapping) {
  AddressSpace space;
  EXPECT_FALSE(space.nearest(GpuAddr{0}).has_value());
  space.map(0x1000, 0x1000, g_memory, true, false);
  space.map(0x9000, 0x1000, g_memory, true, false);
  EXPECT_EQ(space.nearest(GpuAddr{0})->begin, 0x1000u);
  EXPECT_EQ(space.nearest(GpuAddr{0x2100})->begin, 0x1000u);
  EXPECT_EQ(space.nearest(GpuAddr{0x8f00})->begin, 0x9000u);
  EXPECT_EQ(space.nearest(GpuAddr{0xffff0000})->begin, 0x9000u);
}

TEST(AddressSpace, NeverHandsOutARangeThatDoesNotHoldTheAddress) {
  AddressSpace space;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const emu::MappedRange range = space.lookup(GpuAddr{0x5000});
        if (range.end != 0 &&
            !(range.contains(0x5000, 1) && range.host == g_memory + (range.begin - 0x4000)))
          wrong.fetch_add(1);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    space.map(0x4000, 0x4000, g_memory, true, true);
    space.unmap(0x4800, 0x400);
    space.unmap(0x4000, 0x4000);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace wavetap::vgpu
