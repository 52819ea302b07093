#include "emu/row_extent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wavetap::emu {
namespace {

template <int kLanes>
void check(const uint32_t* row, uint64_t mask) {
  RowExtent wanted{~uint32_t{0}, 0, 0};
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    wanted.least = std::min(wanted.least, row[lane]);
    wanted.most = std::max(wanted.most, row[lane]);
    wanted.bits |= row[lane];
  }
  const uint64_t all = ~uint64_t{0} >> (64 - kLanes);
  RowExtent found = extent_of_row<kLanes, false, true, true>(row, mask);
  EXPECT_EQ(found.least, wanted.least);
  EXPECT_EQ(found.most, wanted.most);
  EXPECT_EQ(found.bits, wanted.bits);
  const bool is_same = wanted.least == wanted.most;
  EXPECT_EQ((is_same_in_row<kLanes, false>(row, mask, wanted.least)), is_same);
  if (mask != all) return;
  found = extent_of_row<kLanes, true, true, true>(row, mask);
  EXPECT_EQ(found.least, wanted.least);
  EXPECT_EQ(found.most, wanted.most);
  EXPECT_EQ(found.bits, wanted.bits);
  EXPECT_EQ((is_same_in_row<kLanes, true>(row, mask, wanted.least)), is_same);
}

TEST(RowExtent, IsThatOfTheActiveLanes) {
  std::mt19937 random(1);
  uint32_t row[64];
  for (int turn = 0; turn < 200; ++turn) {
    const uint32_t kept = turn % 4 == 0 ? 0 : ~uint32_t{0} >> random() % 32;
    for (uint32_t& value : row) value = (random() & kept) + 0x80000000u;
    const uint64_t mask = uint64_t{random()} << 32 | random();
    check<64>(row, mask | 1);
    check<64>(row, uint64_t{1} << turn % 64);
    check<64>(row, ~uint64_t{0});
    check<32>(row, (mask & 0xffffffff) | 1);
    check<32>(row, uint64_t{1} << turn % 32);
    check<32>(row, 0xffffffff);
  }
}

}  // namespace
}  // namespace wavetap::emu
