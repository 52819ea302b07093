#include "format/launch_list.h"

#include <gtest/gtest.h>

namespace wavetap::format {
namespace {

TEST(LaunchList, TakesNumbersAndRangesFromOne) {
  const std::optional<LaunchList> list = LaunchList::parse("3,7-9,18446744073709551615");
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->empty());
  for (const uint64_t launch : {3ull, 7ull, 8ull, 9ull, 18446744073709551615ull})
    EXPECT_TRUE(list->contains(launch)) << launch;
  for (const uint64_t launch : {0ull, 1ull, 2ull, 4ull, 6ull, 10ull})
    EXPECT_FALSE(list->contains(launch)) << launch;
}

TEST(LaunchList, IsEmptyForAnEmptyText) {
  const std::optional<LaunchList> list = LaunchList::parse("");
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
}

TEST(LaunchList, RefusesEverythingElse) {
  for (const char* text : {"0", "1,", ",1", "1,,2", "5-3", "0-2", "1-", "-1", "1-2-3", "+1", " 1",
                           "1 ", "a", "1a", "18446744073709551616", "1;2"})
    EXPECT_FALSE(LaunchList::parse(text)) << text;
}

TEST(LaunchList, ThatWasDamagedOnItsWayAsksForNothing) {
  const LaunchList list = LaunchList::of_checked("1,x");
  EXPECT_FALSE(list.empty());
  for (const uint64_t launch : {1, 2, 3}) EXPECT_FALSE(list.contains(launch));
  EXPECT_TRUE(LaunchList::of_checked("").empty());
  EXPECT_TRUE(LaunchList::of_checked("2").contains(2));
}

}  // namespace
}  // namespace wavetap::format
