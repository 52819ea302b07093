#include "vgpu/init_tracking.h"

#include <vector>

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

// Two allocations of VRAM, at addresses that nobody in this process has touched.
class InitTrackingTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSource = 0x6001'0000'0000;
  static constexpr uint64_t kTarget = 0x6002'0000'0000;
  static constexpr uint64_t kBytes = 0x4000;
  static constexpr GpuAddr kHost{0x1000};  // no allocation

  InitTrackingTest() {
    for (const uint64_t va : {kSource, kTarget})
      table.add({.va = va,
                 .size_bytes = kBytes,
                 .host = zeros.data(),
                 .kind = BufferKind::kVram,
                 .requested_bytes = kBytes});
  }
  // Which bytes of the target hold something.
  bool is_defined(uint64_t offset, uint64_t count) {
    sanitize::InitCursor cursor;
    cursor.use(&tracking.map());
    if (!cursor.all_written(kTarget + offset, count)) return false;
    if (tracking.map().undefined() == nullptr) return true;
    cursor.use(tracking.map().undefined());
    return !cursor.any_written(kTarget + offset, count);
  }

  std::vector<std::byte> zeros = std::vector<std::byte>(kBytes);
  AllocationTable table;
  uint64_t gap = 0;
  uint64_t gap_bytes = 0;
  InitTracking tracking{table, [this](const Allocation&, uint64_t begin, uint64_t count) {
                          gap = begin;
                          gap_bytes = count;
                        }};
};

TEST_F(InitTrackingTest, ACopyHasTheHolesOfItsSource) {
  tracking.wrote({kSource}, 5000);
  tracking.wrote({kSource + 5040}, 1000);
  tracking.copied({kTarget + 8}, {kSource}, 6040);
  EXPECT_TRUE(is_defined(8, 5000));
  EXPECT_FALSE(is_defined(5008, 1));
  EXPECT_TRUE(is_defined(5048, 1000));
  EXPECT_EQ(tracking.map().undefined(), nullptr) << "nothing was there before";
}

TEST_F(InitTrackingTest, WhatWasWrittenIsUndefinedAfterACopyOfWhatWasNot) {
  tracking.wrote({kTarget}, kBytes);
  tracking.wrote({kSource}, 100);
  tracking.copied({kTarget + 1000}, {kSource}, 200);
  EXPECT_TRUE(is_defined(0, 1100));
  EXPECT_FALSE(is_defined(1100, 1));
  EXPECT_FALSE(is_defined(1199, 1));
  EXPECT_TRUE(is_defined(1200, kBytes - 1200));
  tracking.copied({kHost}, {kTarget}, 1100);
  EXPECT_EQ(gap_bytes, 0u);
  tracking.copied({kHost}, {kTarget}, kBytes);
  EXPECT_EQ(gap, kTarget + 1100);
  EXPECT_EQ(gap_bytes, 100u);
  // Until somebody writes it.
  tracking.wrote({kTarget + 1100}, 90);
  gap_bytes = 0;
  tracking.copied({kHost}, {kTarget}, kBytes);
  EXPECT_EQ(gap_bytes, 0u) << "10 bytes may be padding";
  tracking.wrote({kSource + 100}, 100);
  tracking.copied({kTarget + 1000}, {kSource}, 200);
  EXPECT_TRUE(is_defined(0, kBytes));
}

}  // namespace
}  // namespace wavetap::vgpu
