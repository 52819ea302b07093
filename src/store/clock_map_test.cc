// Times of a simulated CPU whose counter runs at 2.7 GHz, 3 s after boot, with all the ways a
// recording may end.
#include "store/clock_map.h"

#include <gtest/gtest.h>

namespace wavetap::store {
namespace {

using format::Clock;
using format::ClockSampleFact;

constexpr double kHz = 2.7e9;
constexpr int64_t kStart = 3'000'000'000;
constexpr int64_t kAsleep = 500'000'000;  // CLOCK_BOOTTIME - CLOCK_MONOTONIC
constexpr int64_t kMs = 1'000'000;

uint64_t ticks_at(int64_t ns) { return static_cast<uint64_t>(static_cast<double>(ns) * kHz / 1e9); }

ClockSampleFact sample(int64_t ns) {
  ClockSampleFact s{};
  s.counter = ticks_at(ns - 50);
  s.counter_after = ticks_at(ns + 50);
  s.monotonic_ns = ns;
  s.boottime_ns = ns + kAsleep;
  s.realtime_ns = ns + 1'700'000'000'000'000'000;
  return s;
}

ClockMap map_of(std::initializer_list<int64_t> samples, uint64_t stated_hz) {
  ClockMap map;
  for (const int64_t ns : samples) map.add(sample(ns));
  map.set_frequency(Clock::kCounter, stated_hz);
  return map;
}

void expect_near(const ClockMap& map, int64_t ns, int64_t tolerance) {
  EXPECT_NEAR(static_cast<double>(map.monotonic(ticks_at(ns))), static_cast<double>(ns),
              static_cast<double>(tolerance));
}

TEST(ClockMap, ReadsTheRateWithOneSample) {
  const ClockMap map = map_of({kStart}, 2'700'000'000);
  EXPECT_EQ(map.rate(), ClockMap::Rate::kKnown);
  expect_near(map, kStart + 900 * kMs, 10);
  expect_near(map, kStart - 2 * kMs, 10);
}

TEST(ClockMap, TakesTheRateFromTwoSamplesBeforeTheFirstEvent) {
  const ClockMap map = map_of({kStart, kStart + 100'000}, 0);
  EXPECT_EQ(map.rate(), ClockMap::Rate::kKnown);
  EXPECT_NEAR(map.hz(), kHz, kHz * 2e-3);
  expect_near(map, kStart + kMs, 2000);
}

TEST(ClockMap, StaysWithinNanosecondsWhenSamplesComeTwiceAsLateEachTime) {
  const ClockMap map = map_of({kStart, kStart + 100'000, kStart + kMs, kStart + 2 * kMs,
                               kStart + 4 * kMs, kStart + 8 * kMs},
                              0);
  expect_near(map, kStart + 15 * kMs, 100);  // killed just before the next
}

TEST(ClockMap, DoesNotTakeARateFromSamplesThatLieTooClose) {
  const ClockMap map = map_of({kStart, kStart + 200}, 0);
  EXPECT_NE(map.rate(), ClockMap::Rate::kKnown);
}

TEST(ClockMap, NeverTakesATickForANanosecondUnasked) {
  const ClockMap map = map_of({kStart}, 0);
  EXPECT_EQ(map.rate(), ClockMap::Rate::kGuessed);
  const int64_t elapsed = map.monotonic(ticks_at(kStart + 300 * kMs)) - kStart;
  EXPECT_GT(elapsed, 200 * kMs);
  EXPECT_LT(elapsed, 400 * kMs);
}

TEST(ClockMap, LearnsTheRateFromASampleOfTheSameBoot) {
  ClockMap map = map_of({kStart}, 0);
  map.learn_from_sample(sample(kStart + 3600'000 * kMs));
  EXPECT_EQ(map.rate(), ClockMap::Rate::kKnown);
  expect_near(map, kStart + 900 * kMs, 10);
}

TEST(ClockMap, IgnoresASampleThatCannotBeOfTheSameBoot) {
  ClockMap map = map_of({kStart}, 0);
  map.learn_from_sample(sample(kStart - 1000 * kMs));
  EXPECT_EQ(map.rate(), ClockMap::Rate::kGuessed);
}

TEST(ClockMap, EstimatesTheRateFromWhenKernelsBegan) {
  ClockMap map = map_of({kStart}, 0);
  // Submitted, and begun 400, 20 and 90 us later.
  map.learn_from_order({{ticks_at(kStart + 200 * kMs), kStart + kAsleep + 200 * kMs + 400'000},
                        {ticks_at(kStart + 400 * kMs), kStart + kAsleep + 400 * kMs + 20'000},
                        {ticks_at(kStart + 500 * kMs), kStart + kAsleep + 500 * kMs + 90'000}});
  EXPECT_EQ(map.rate(), ClockMap::Rate::kEstimated);
  expect_near(map, kStart + 500 * kMs, 30'000);
}

TEST(ClockMap, LeavesAKnownRateAlone) {
  ClockMap map = map_of({kStart}, 2'700'000'000);
  map.learn_from_order({{ticks_at(kStart + 200 * kMs), kStart + kAsleep + 300 * kMs}});
  map.learn_from_sample(sample(kStart + 9000 * kMs));
  EXPECT_EQ(map.hz(), 2.7e9);
}

TEST(ClockMap, BelievesItsSamplesBeforeAStatementThatIsWrong) {
  const ClockMap map = map_of({kStart, kStart + 50 * kMs}, 1'000'000'000);
  EXPECT_NEAR(map.hz(), kHz, kHz * 1e-5);
  expect_near(map, kStart + 90 * kMs, 200);
}

TEST(ClockMap, LeavesASampleOutThatGoesBack) {
  const ClockMap map = map_of({kStart, kStart + 50 * kMs, kStart + 20 * kMs}, 0);
  expect_near(map, kStart + 25 * kMs, 100);
}

TEST(ClockMap, KnowsThatBoottimeCountsNanoseconds) {
  ClockMap map;
  map.set_frequency(Clock::kBoottimeNs, 0);
  EXPECT_EQ(map.rate(), ClockMap::Rate::kKnown);
  EXPECT_EQ(map.monotonic(1234), 1234);
}

TEST(ClockMap, TakesTheMachinesSleepOutOfGpuTimes) {
  const ClockMap map = map_of({kStart}, 2'700'000'000);
  EXPECT_EQ(map.monotonic_of_boottime(kStart + kAsleep + 7), kStart + 7);
  EXPECT_EQ(map.epoch_offset(), 1'700'000'000'000'000'000);
}

}  // namespace
}  // namespace wavetap::store
