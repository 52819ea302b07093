#include "format/launch_choice.h"

#include <gtest/gtest.h>

#include <set>

namespace wavetap::format {
namespace {

std::set<uint64_t> chosen(const std::string& text, uint64_t launches) {
  const LaunchChoice choice = LaunchChoice::of_checked(text);
  std::set<uint64_t> found;
  for (uint64_t launch = 1; launch <= launches; ++launch)
    if (choice.contains(launch, false)) found.insert(launch);
  return found;
}

TEST(LaunchChoice, IsAllOrAListWithoutAWord) {
  EXPECT_TRUE(LaunchChoice::of_checked("").is_empty());
  EXPECT_EQ(chosen("", 3), (std::set<uint64_t>{1, 2, 3}));
  EXPECT_EQ(chosen("2,5-6", 9), (std::set<uint64_t>{2, 5, 6}));
}

TEST(LaunchChoice, TakesTheFirstOfEachKernel) {
  const LaunchChoice choice = LaunchChoice::of_checked("first");
  EXPECT_TRUE(choice.asks_for_first());
  EXPECT_TRUE(choice.contains(7, true));
  EXPECT_FALSE(choice.contains(1, false));
}

TEST(LaunchChoice, TakesTheSameLaunchesForTheSameSeed) {
  EXPECT_EQ(chosen("random 10 7", 1000), chosen("random 10 7", 1000));
  EXPECT_NE(chosen("random 10 7", 1000), chosen("random 10 8", 1000));
  EXPECT_EQ(chosen("random 1 99", 4), (std::set<uint64_t>{1, 2, 3, 4}));
}

TEST(LaunchChoice, TakesOneInNWhateverTheSeed) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    // 100 are expected, with a standard deviation of 10.
    const size_t found = chosen(RandomLaunches{100, seed}.text(), 10'000).size();
    EXPECT_GT(found, 50u) << seed;
    EXPECT_LT(found, 150u) << seed;
  }
}

TEST(LaunchChoice, IsNotEveryNth) {
  std::set<uint64_t> gaps;
  uint64_t before = 0;
  for (const uint64_t launch : chosen("random 10 1", 1000)) {
    gaps.insert(launch - before);
    before = launch;
  }
  EXPECT_GT(gaps.size(), 10u);
}

TEST(LaunchChoice, ThatWasDamagedOnItsWayAsksForNothing) {
  for (const char* text : {"random", "random ", "random 0 1", "random 10", "random 10 x",
                           "random 10 1 2", "firs", "1,x"})
    EXPECT_TRUE(chosen(text, 100).empty()) << text;
}

}  // namespace
}  // namespace wavetap::format
