#include "sanitize/init_map.h"

#include <gtest/gtest.h>

namespace wavetap::sanitize::init_map_test {
namespace {

TEST(InitMap, KnowsEveryByteThatWasWritten) {
  InitMap map;
  InitCursor cursor;
  cursor.use(&map);
  EXPECT_FALSE(cursor.any_written(0, 1 << 20));
  // Over the end of a page, and not on a word.
  const uint64_t begin = 3 * InitMap::kPageBytes - 70;
  cursor.mark(begin, 100);
  EXPECT_TRUE(cursor.all_written(begin, 100));
  EXPECT_FALSE(cursor.all_written(begin - 1, 100));
  EXPECT_FALSE(cursor.all_written(begin, 101));
  EXPECT_FALSE(cursor.any_written(begin - 64, 64));
  EXPECT_FALSE(cursor.any_written(begin + 100, 64));
  EXPECT_TRUE(cursor.any_written(begin + 99, 64));
}

TEST(InitMap, TakesNothingForWhatNobodyWrote) {
  InitMap map;
  InitCursor cursor;
  cursor.use(&map);
  EXPECT_FALSE(cursor.any_written(uint64_t{1} << 40, uint64_t{1} << 20));
  EXPECT_EQ(map.memory_bytes(), 0u);
  cursor.mark(uint64_t{1} << 40, 4);
  EXPECT_EQ(map.memory_bytes(), sizeof(InitMap::Page));
}

TEST(InitMap, WhatWasStoredUndefinedIsAMapOfItsOwn) {
  InitMap map;
  EXPECT_EQ(map.undefined(), nullptr);
  EXPECT_FALSE(map.has_parts());
  InitCursor cursor;
  cursor.use(&map.make_undefined());
  EXPECT_EQ(map.undefined(), &map.make_undefined());
  EXPECT_TRUE(map.has_parts());
  // Over the end of a page, and not on a word.
  const uint64_t begin = 3 * InitMap::kPageBytes - 70;
  cursor.mark(begin, 200);
  cursor.unmark(begin + 60, 20);
  uint64_t run = 0;
  uint64_t count = 0;
  ASSERT_TRUE(cursor.find_run(begin - 1000, 2000, 16, &run, &count));
  EXPECT_EQ(run, begin);
  EXPECT_EQ(count, 60u);
  ASSERT_TRUE(cursor.find_run(begin - 1000, 2000, 61, &run, &count));
  EXPECT_EQ(run, begin + 80);
  EXPECT_EQ(count, 120u);
  EXPECT_FALSE(cursor.find_run(begin - 1000, 2000, 121, &run, &count));
  EXPECT_FALSE(cursor.find_run(begin + 60, 20, 1, &run, &count));
}

TEST(InitMap, FindsGapsThatAreLongEnough) {
  InitMap map;
  InitCursor cursor;
  cursor.use(&map);
  cursor.mark(4096, 100);
  cursor.mark(4203, 200);  // 7 bytes of padding before
  uint64_t gap = 0;
  uint64_t count = 0;
  EXPECT_FALSE(cursor.find_gap(4096, 307, 16, &gap, &count));
  ASSERT_TRUE(cursor.find_gap(4096, 307, 7, &gap, &count));
  EXPECT_EQ(gap, 4196u);
  EXPECT_EQ(count, 7u);
  ASSERT_TRUE(cursor.find_gap(4096, 1000, 16, &gap, &count));
  EXPECT_EQ(gap, 4403u);
  EXPECT_EQ(count, 4096u + 1000 - 4403);
  ASSERT_TRUE(cursor.find_gap(4000, 500, 16, &gap, &count));
  EXPECT_EQ(gap, 4000u);
  EXPECT_EQ(count, 96u);
}

}  // namespace
}  // namespace wavetap::sanitize::init_map_test
