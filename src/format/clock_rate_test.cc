#include "format/clock_rate.h"

#include <gtest/gtest.h>

namespace wavetap::format {
namespace {

constexpr double kHz = 2.7e9;

// A sample `ns` after boot whose readings took `bracket_ns`.
ClockSampleFact sample(int64_t ns, int64_t bracket_ns = 100) {
  ClockSampleFact s{};
  s.counter = static_cast<uint64_t>(static_cast<double>(ns - bracket_ns / 2) * kHz / 1e9);
  s.counter_after = static_cast<uint64_t>(static_cast<double>(ns + bracket_ns / 2) * kHz / 1e9);
  s.boottime_ns = s.monotonic_ns = ns;
  return s;
}

TEST(ClockRate, IsMeasuredBetweenTwoSamples) {
  const MeasuredRate rate = measure_rate(sample(1'000'000'000), sample(1'001'000'000));
  EXPECT_NEAR(rate.hz, kHz, kHz * 1e-6);
  EXPECT_NEAR(rate.error, 1e-4, 1e-6);
}

TEST(ClockRate, OfSamplesCloseTogetherIsKnownToBeCoarse) {
  const MeasuredRate rate = measure_rate(sample(1'000'000'000), sample(1'000'000'300));
  EXPECT_GT(rate.error, 0.3);
}

TEST(ClockRate, IsNotMeasuredFromOneSampleOrBackwards) {
  EXPECT_EQ(measure_rate(sample(1000), sample(1000)).hz, 0);
  EXPECT_EQ(measure_rate(sample(2'000'000), sample(1'000'000)).hz, 0);
}

TEST(ClockRate, AStatedOneIsBelievedUntilTheSamplesKnowBetter) {
  const MeasuredRate early = measure_rate(sample(1'000'000'000), sample(1'000'100'000));
  EXPECT_EQ(believed_rate(2'700'010'000, early).hz, 2'700'010'000.0);
  const MeasuredRate late = measure_rate(sample(1'000'000'000), sample(9'000'000'000));
  EXPECT_EQ(believed_rate(2'700'010'000, late).hz, late.hz);
}

TEST(ClockRate, AStatedOneThatCannotBeRightIsNotBelieved) {
  const MeasuredRate early = measure_rate(sample(1'000'000'000), sample(1'001'000'000));
  EXPECT_EQ(believed_rate(2'400'000'000, early).hz, early.hz);
}

TEST(ClockRate, AStatedOneStandsWithoutASecondSample) {
  EXPECT_EQ(believed_rate(2'700'000'000, {}).hz, kHz);
  EXPECT_EQ(believed_rate(0, {}).hz, 0);
}

}  // namespace
}  // namespace wavetap::format
