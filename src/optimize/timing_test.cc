#include "optimize/timing.h"

#include <gtest/gtest.h>

namespace wavetap::optimize {
namespace {

Timed timed(std::vector<TimedRuns> runs) { return {{"a GPU", "gpu", ""}, std::move(runs)}; }

TEST(Timing, FasterBeyondTheInterval) {
  const TimingVerdict verdict = judge_times(
      timed({{1, {1.00, 1.02, 0.99, 1.01, 1.00}, {0.80, 0.81, 0.79, 0.82, 0.80}}}), 0.02);
  EXPECT_TRUE(verdict.is_faster) << verdict.reason;
  EXPECT_NEAR(verdict.improvement, 1.25, 0.02);
  EXPECT_EQ(verdict.json.at("verdict"), "faster");
  EXPECT_LT(verdict.json.at("high").get<double>(), 1);
  EXPECT_EQ(verdict.json.at("pairs"), 5);
}

// The mean is 5 % better, and the scatter is larger than that.
TEST(Timing, NoDifferenceIsAnAnswer) {
  const TimingVerdict verdict =
      judge_times(timed({{1, {1.0, 1.3, 0.8, 1.1, 1.0}, {1.2, 0.8, 1.0, 0.7, 1.25}}}), 0.02);
  EXPECT_FALSE(verdict.is_faster);
  EXPECT_EQ(verdict.improvement, 1);
  EXPECT_EQ(verdict.json.at("verdict"), "no difference");
  EXPECT_TRUE(verdict.reason.starts_with("no difference: ")) << verdict.reason;
}

// What drifts meets both of a pair alike: times that double over the runs are no scatter.
TEST(Timing, DriftIsNoScatter) {
  TimedRuns runs{1, {}, {}};
  for (int i = 0; i < 10; ++i) {
    runs.before.push_back(1 + 0.1 * i);
    runs.after.push_back(0.95 * (1 + 0.1 * i));
  }
  EXPECT_TRUE(judge_times(timed({runs}), 0.02).is_faster);
}

TEST(Timing, FasterButNotByEnough) {
  const Timed little = timed({{1, {1, 1, 1, 1}, {0.99, 0.99, 0.99, 0.99}}});
  const TimingVerdict verdict = judge_times(little, 0.02);
  EXPECT_FALSE(verdict.is_faster);
  EXPECT_TRUE(verdict.reason.starts_with("faster, but not by 2 %: 0.99x")) << verdict.reason;
  EXPECT_TRUE(judge_times(little, 0.005).is_faster);
}

TEST(Timing, SlowerOnOneCaptureIsSlower) {
  const TimingVerdict verdict =
      judge_times(timed({{1, {4, 4, 4}, {1, 1, 1}}, {3, {1, 1, 1}, {1.5, 1.5, 1.5}}}), 0.02);
  EXPECT_FALSE(verdict.is_faster);
  EXPECT_TRUE(verdict.reason.starts_with("slower on capture 3: 1.5x")) << verdict.reason;
  EXPECT_EQ(verdict.json.at("captures").size(), 2);
  EXPECT_EQ(verdict.json.at("captures")[0].at("verdict"), "faster");
}

TEST(Timing, SaysWhenItIsTheEmulationsTime) {
  const Timed virtual_gpu{{"a GPU", "emulation", ""}, {{1, {1, 1, 1}, {2, 2, 2}}}};
  const TimingVerdict verdict = judge_times(virtual_gpu, 0.02);
  EXPECT_NE(verdict.reason.find("by the time of the emulation"), std::string::npos);
  EXPECT_EQ(verdict.json.at("clock"), "emulation");
}

TEST(Timing, NothingOrNonsenseIsNotFaster) {
  EXPECT_FALSE(judge_times(timed({}), 0.02).is_faster);
  EXPECT_FALSE(judge_times(timed({{1, {1}, {0.1}}}), 0.02).is_faster);  // one pair has no interval
  const TimingVerdict verdict = judge_times(timed({{1, {1, 1, 0}, {0.1, 0.1, 0.1}}}), 0.02);
  EXPECT_FALSE(verdict.is_faster);
  EXPECT_EQ(verdict.reason, "not compared");
}

}  // namespace
}  // namespace wavetap::optimize
