#include "vgpu/host_wait.h"

#include <thread>

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

using Turn = ClockLoop::Turn;

// Turns of 100 ns from `now_ns` on, until the loop is told to rest.
int turns_until_rest(ClockLoop& loop, int64_t& now_ns, uint32_t seen, Turn& rest) {
  for (int turns = 1; turns < 10'000; ++turns) {
    rest = loop.turn(now_ns += 100, seen);
    if (rest != Turn::kGoOn) return turns;
  }
  return -1;
}

TEST(ClockLoop, RestsAfterSomeQuickTurnsAndThenAtEachTurn) {
  ClockLoop loop;
  int64_t now_ns = 1'000'000;
  Turn rest = Turn::kGoOn;
  EXPECT_GT(turns_until_rest(loop, now_ns, 5, rest), 10);
  EXPECT_EQ(rest, Turn::kFirstRest);
  loop.rested(now_ns += 100'000);
  EXPECT_EQ(loop.turn(now_ns += 100, 5), Turn::kRest);
}

TEST(ClockLoop, AProgramThatAsksForTheTimeNowAndThenIsNeverHeldUp) {
  ClockLoop loop;
  for (int64_t now_ns = 1'000'000; now_ns < 100'000'000; now_ns += 10'000)
    ASSERT_EQ(loop.turn(now_ns, 5), Turn::kGoOn);
}

TEST(ClockLoop, BeginsAnewAfterAPause) {
  ClockLoop loop;
  int64_t now_ns = 1'000'000;
  Turn rest = Turn::kGoOn;
  turns_until_rest(loop, now_ns, 5, rest);
  EXPECT_EQ(loop.turn(now_ns += 50'000, 5), Turn::kGoOn);
  EXPECT_GT(turns_until_rest(loop, now_ns, 5, rest), 10);
  EXPECT_EQ(rest, Turn::kFirstRest);
}

TEST(ClockLoop, LooksAtItsSignalAgainWhenSomethingWasCompletedSinceTheLastTurn) {
  ClockLoop loop;
  int64_t now_ns = 1'000'000;
  Turn rest = Turn::kGoOn;
  turns_until_rest(loop, now_ns, 5, rest);
  loop.rested(now_ns);
  EXPECT_EQ(loop.turn(now_ns += 100, 6), Turn::kGoOn);
  EXPECT_EQ(loop.turn(now_ns += 100, 6), Turn::kRest);
}

TEST(HostWait, ARestEndsWhenSomethingIsCompleted) {
  const uint32_t before = completions();
  std::thread gpu([] { announce_completion(); });
  while (completions() == before) rest_until_completion(before);
  EXPECT_EQ(completions(), before + 1);
  gpu.join();
}

TEST(HostWait, WhoHasWaitedForLongRestsForLonger) {
  EXPECT_EQ(rest_after(0), kRestNs);
  EXPECT_EQ(rest_after(16'000'000), 1'000'000);
  EXPECT_EQ(rest_after(int64_t{1} << 60), 2'000'000);
}

TEST(HostWait, NobodyRestsOnACountThatHasMoved) {
  const uint32_t before = completions();
  announce_completion();
  rest_until_completion(before);
  EXPECT_EQ(completions(), before + 1);
}

}  // namespace
}  // namespace wavetap::vgpu
