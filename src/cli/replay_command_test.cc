#include "cli/replay_command.h"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

TEST(ReplayTimes, AreMedianSpreadAndOutliers) {
  const ReplayTimes times = times_of({4, 5, 6, 5, 4, 6, 5, 5, 4, 100});
  EXPECT_EQ(times.least, 4);
  EXPECT_EQ(times.median, 5);
  EXPECT_EQ(times.most, 100);
  EXPECT_EQ(times.spread, 1);
  EXPECT_EQ(times.outliers, 1u);
}

TEST(ReplayTimes, OfFewOrEqualRunsHaveNoOutliers) {
  EXPECT_EQ(times_of({1, 2, 100}).outliers, 0u);
  const ReplayTimes equal = times_of(std::vector<double>(20, 3));
  EXPECT_EQ(equal.median, 3);
  EXPECT_EQ(equal.spread, 0);
  EXPECT_EQ(equal.outliers, 0u);
}

}  // namespace
}  // namespace wavetap::cli
