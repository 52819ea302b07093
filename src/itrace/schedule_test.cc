#include "itrace/schedule.h"

#include <gtest/gtest.h>

namespace wavetap::itrace {
namespace {

using isa::WaitClass;

constexpr uint32_t kLoad = 0, kWait = 1, kAdd = 2, kBarrier = 3, kEnd = 4, kWaitOne = 5;

std::vector<SiteTiming> timings() {
  std::vector<SiteTiming> sites(6);
  sites[kLoad] = {.category = Category::kVmem, .pipe = Pipe::kMemory, .pipe_cycles = 4};
  sites[kLoad].answer_cycles = 500;
  sites[kLoad].effect.issues = isa::bit_of(WaitClass::kVector);
  sites[kWait] = {.category = Category::kImmed, .pipe = Pipe::kNone};
  sites[kWait].effect.most[0] = 0;
  sites[kWaitOne] = {.category = Category::kImmed, .pipe = Pipe::kNone};
  sites[kWaitOne].effect.most[0] = 1;
  sites[kAdd] = {.category = Category::kValu, .pipe = Pipe::kVector, .pipe_cycles = 4};
  sites[kBarrier] = {.category = Category::kImmed, .pipe = Pipe::kNone, .is_barrier = true};
  sites[kEnd] = {.category = Category::kImmed, .pipe = Pipe::kNone, .is_end = true};
  return sites;
}

std::vector<Wave> run(const std::vector<std::vector<uint32_t>>& waves, uint32_t per_group,
                      ScheduleOptions options = {.gfx_major = 9, .workgroups = 1, .simds = 4}) {
  std::vector<RecordedWave> recorded;
  for (uint32_t i = 0; i < waves.size(); ++i)
    recorded.push_back(
        {.workgroup = i / per_group, .wave_in_group = i % per_group, .sites = waves[i]});
  std::vector<const RecordedWave*> pointers;
  for (const RecordedWave& wave : recorded) pointers.push_back(&wave);
  return schedule(pointers, timings(), options);
}

TEST(Schedule, AWaitEndsWhenTheAnswerIsThere) {
  const std::vector<Wave> waves = run({{kLoad, kAdd, kWait, kEnd}}, 1);
  ASSERT_EQ(waves.size(), 1u);
  const Wave& wave = waves[0];
  const int64_t issued = wave.issues[0].time + wave.issues[0].stall;
  EXPECT_EQ(wave.issues[2].time + wave.issues[2].stall, issued + 500);
  ASSERT_EQ(wave.waits.size(), 1u);
  EXPECT_EQ(wave.waits[0], (Wait{kWait, {kLoad}}));
}

TEST(Schedule, AWaitForOneLeavesTheYoungestUnderWay) {
  const std::vector<Wave> waves = run({{kLoad, kLoad, kWaitOne, kWait, kEnd}}, 1);
  const std::vector<Issue>& issues = waves[0].issues;
  EXPECT_EQ(issues[2].time + issues[2].stall, issues[0].time + 500);
  EXPECT_EQ(issues[3].time + issues[3].stall, issues[1].time + issues[1].stall + 500);
}

TEST(Schedule, WavesOfAWorkgroupMeetAtItsBarrier) {
  const std::vector<Wave> waves =
      run({{kLoad, kWait, kBarrier, kEnd}, {kBarrier, kEnd}, {kAdd, kEnd}}, 3);
  ASSERT_EQ(waves.size(), 3u);
  int64_t passed[2] = {};
  for (const Wave& wave : waves)
    for (const Issue& issue : wave.issues)
      if (issue.row == kBarrier) passed[wave.wave_in_group] = issue.time + issue.stall;
  EXPECT_GT(passed[0], 500);
  EXPECT_EQ(passed[0], passed[1]);
}

TEST(Schedule, AFullUnitTakesTheNextWorkgroupWhenOneHasLeft) {
  const std::vector<Wave> waves = run({{kLoad, kWait, kEnd}, {kAdd, kEnd}}, 1);
  ASSERT_EQ(waves.size(), 2u);
  EXPECT_EQ(waves[0].workgroup, 0u);
  EXPECT_GT(waves[1].begin, waves[0].end);
}

TEST(Schedule, OneSimdIssuesOneVectorInstructionAtATime) {
  const std::vector<Wave> waves = run({{kAdd, kAdd, kAdd, kEnd}, {kAdd, kAdd, kAdd, kEnd}}, 2,
                                      {.gfx_major = 9, .workgroups = 1, .simds = 1});
  std::vector<int64_t> issued;
  for (const Wave& wave : waves)
    for (const Issue& issue : wave.issues)
      if (issue.row == kAdd) issued.push_back(issue.time + issue.stall);
  std::sort(issued.begin(), issued.end());
  ASSERT_EQ(issued.size(), 6u);
  for (size_t i = 1; i < issued.size(); ++i) EXPECT_GE(issued[i] - issued[i - 1], 4);
}

TEST(Schedule, ATimelineIsAsLongAsItsWave) {
  for (const Wave& wave : run({{kLoad, kAdd, kWait, kAdd, kEnd}, {kAdd, kAdd, kEnd}}, 2)) {
    int64_t cycles = 0;
    for (const StateSpan& span : wave.timeline) cycles += span.cycles;
    EXPECT_EQ(cycles, wave.end - wave.begin);
  }
}

}  // namespace
}  // namespace wavetap::itrace
