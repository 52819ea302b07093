// Forward progress, fairness, order and the ways a dispatch ends early.
#include "emu/scheduler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "emu/testing/kernel.h"

namespace wavetap::emu {
namespace {

// s[8:9] = data; lane 0 only. Then, per test, an atomic or a poll.
constexpr char kPrologue[] = R"(
    s_mov_b32 s8, 0x400000
    s_mov_b32 s9, 0
    s_mov_b64 exec, 1
    v_mov_b32 v1, 0
    v_mov_b32 v2, 1
)";

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Every workgroup announces itself and waits until all have: none may finish before the last
// started.
std::string grid_barrier(const char* pause) {
  return std::string(kPrologue) + R"(
      s_load_dword s10, s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      global_atomic_add v1, v2, s[8:9]
    wait:
      )" +
         pause + R"(
      global_load_dword v3, v1, s[8:9] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s11, v3
      s_cmp_lt_u32 s11, s10
      s_cbranch_scc1 wait
      s_endpgm)";
}

TEST(Progress, WorkgroupsMayWaitForEachOther) {
  for (const char* pause : {"s_sleep 1", "s_nop 0"})
    for (const int threads : {1, 2}) {
      TestKernel kernel({}, grid_barrier(pause));
      constexpr uint32_t kGroups = 300;
      kernel.set_argument(0, kGroups);
      kernel.set_size(kGroups * 64, 64);
      Engine engine({.threads = threads});
      const DispatchResult result = engine.run(kernel.dispatch);
      ASSERT_FALSE(result.fault) << result.fault->detail;
      EXPECT_EQ(kernel.data(0), kGroups) << pause << " threads " << threads;
    }
}

TEST(Progress, ACooperativeDispatchIsResidentAtOnce) {
  TestKernel kernel({}, grid_barrier("s_nop 0"));
  kernel.set_argument(0, 500);
  kernel.set_size(500 * 64, 64);
  kernel.dispatch.cooperative = true;
  Engine engine({.threads = 1});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
}

// Waves that wait for each other by global wave sync try again and again; each barrier counts once.
TEST(Progress, WavesThatWaitForOthersAreCountedOnce) {
  constexpr uint32_t kGroups = 40;
  for (const int threads : {1, 2})
    for (const uint64_t seed : {0, 7}) {
      TestKernel kernel({}, R"(
          s_mov_b32 m0, 0
          v_mov_b32 v2, 39
          ds_gws_barrier v2 offset:2 gds
          ds_gws_barrier v2 offset:2 gds
          s_endpgm)");
      kernel.memory.wave_sync.resource[2] = kGroups - 1;
      kernel.set_size(kGroups * 64, 64);
      kernel.dispatch.cooperative = true;
      kernel.dispatch.count = true;
      Engine engine({.threads = threads, .seed = seed});
      const DispatchResult result = engine.run(kernel.dispatch);
      ASSERT_FALSE(result.fault) << result.fault->detail;
      EXPECT_EQ(result.counters.instructions, kGroups * 5u);
      EXPECT_EQ(result.counters.lds, kGroups * 2u);
    }
}

// The first wave polls LDS for what the last one writes, without a barrier.
TEST(Progress, WavesOfAWorkgroupMayWaitForEachOther) {
  TestKernel kernel({}, R"(
      s_mov_b32 m0, -1
      v_mov_b32 v1, 0
      v_readfirstlane_b32 s10, v0
      s_and_b32 s10, s10, 0x3ff
      s_cmp_eq_u32 s10, 0
      s_cbranch_scc1 wait
      s_cmp_eq_u32 s10, 960
      s_cbranch_scc0 end
      v_mov_b32 v2, 7
      ds_write_b32 v1, v2
      s_branch end
    wait:
      ds_read_b32 v3, v1
      s_waitcnt lgkmcnt(0)
      v_readfirstlane_b32 s11, v3
      s_cmp_eq_u32 s11, 7
      s_cbranch_scc0 wait
    end:
      s_endpgm)");
  kernel.set_size(1024, 1024);
  kernel.dispatch.group_segment_bytes = 512;
  for (const uint64_t seed : {0, 1, 2, 3}) {
    Engine engine({.threads = 1, .seed = seed});
    ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  }
}

// Waves that end do not take part in later barriers.
TEST(Progress, ABarrierForgetsWavesThatEnded) {
  TestKernel kernel({}, R"(
      v_readfirstlane_b32 s10, v0
      s_and_b32 s10, s10, 0x3ff
      s_barrier
      s_cmp_lt_u32 s10, 512
      s_cbranch_scc1 end
      s_barrier
      s_barrier
    end:
      s_endpgm)");
  kernel.set_size(1024, 1024);
  kernel.dispatch.count = true;
  Engine engine({.threads = 1});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_FALSE(result.fault);
  EXPECT_EQ(result.counters.barrier, 16u + 8 + 8);
}

// Two dispatches, from two host threads, take turns on one word. Neither sleeps.
TEST(Progress, DispatchesMayWaitForEachOther) {
  const std::string text = std::string(kPrologue) + R"(
      s_load_dword s10, s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      s_mov_b32 s12, 20
    wait:
      global_load_dword v3, v1, s[8:9] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s11, v3
      s_and_b32 s11, s11, 1
      s_cmp_eq_u32 s11, s10
      s_cbranch_scc0 wait
      global_atomic_add v1, v2, s[8:9]
      s_sub_u32 s12, s12, 1
      s_cmp_lg_u32 s12, 0
      s_cbranch_scc1 wait
      s_endpgm)";
  TestKernel kernel({}, text);
  constexpr uint64_t kOtherArguments = TestKernel::kArguments + 0x100;
  kernel.memory.write(kOtherArguments, uint32_t{1});
  Dispatch other = kernel.dispatch;
  other.kernarg = {kOtherArguments};
  for (const int threads : {1, 3}) {
    kernel.memory.write(TestKernel::kData, uint32_t{0});
    Engine engine({.threads = threads});
    std::thread second([&] { EXPECT_FALSE(engine.run(other).fault); });
    EXPECT_FALSE(engine.run(kernel.dispatch).fault);
    second.join();
    EXPECT_EQ(kernel.data(0), 40u);
  }
}

// A kernel that waits for the host: it must see the store, and must not burn a core meanwhile.
TEST(Progress, SleepsWhileItWaitsForTheHost) {
  TestKernel kernel({}, std::string(kPrologue) + R"(
    wait:
      s_sleep 10
      global_load_dword v3, v1, s[8:9] offset:4 glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s11, v3
      s_cmp_eq_u32 s11, 0
      s_cbranch_scc1 wait
      s_endpgm)");
  Engine engine({.threads = 2});
  const double before = cpu_seconds();
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const MappedRange range = kernel.memory.lookup({TestKernel::kData});
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(range.host + 4)).store(1);
  });
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  host.join();
  EXPECT_LT(cpu_seconds() - before, 0.15);
}

TEST(Progress, AnIdleEngineUsesNoCpu) {
  TestKernel kernel({}, "s_endpgm");
  Engine engine({.threads = 2});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

// --- Order.

// Each workgroup takes a ticket and writes it to its own slot.
std::vector<uint32_t> start_order(const EngineOptions& options, uint32_t groups) {
  TestKernel kernel({}, std::string(kPrologue) + R"(
      global_atomic_add v4, v1, v2, s[8:9] glc
      s_lshl_b32 s10, s2, 2
      v_mov_b32 v5, s10
      s_waitcnt vmcnt(0)
      global_store_dword v5, v4, s[8:9] offset:4
      s_endpgm)");
  kernel.set_size(groups * 64, 64);
  Engine engine(options);
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < groups; ++i) order.push_back(kernel.data(1 + i));
  return order;
}

TEST(Order, IsThatOfTheGridWithoutASeed) {
  const std::vector<uint32_t> order = start_order({.threads = 1}, 100);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(Order, IsAPermutationChosenByTheSeed) {
  const std::vector<uint32_t> first = start_order({.threads = 1, .seed = 1}, 101);
  EXPECT_EQ(first, start_order({.threads = 1, .seed = 1}, 101));
  EXPECT_NE(first, start_order({.threads = 1, .seed = 2}, 101));
  EXPECT_NE(first, start_order({.threads = 1}, 101));
  EXPECT_EQ(std::set<uint32_t>(first.begin(), first.end()).size(), 101u);
}

TEST(Order, EverySeedVisitsEveryWorkgroupOnce) {
  for (const uint64_t count : {1, 2, 3, 7, 64, 1000, 1024})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < count; ++i) seen.insert(group_in_order(i, count, seed));
      ASSERT_EQ(seen.size(), count) << seed;
      ASSERT_LT(*seen.rbegin(), count);
    }
}

TEST(Order, OneThreadCountsTheSameEveryTime) {
  // Spins until the other workgroups came by, so the counts depend on the schedule.
  const auto counters = [](uint64_t seed) {
    TestKernel kernel({}, grid_barrier("s_sleep 1"));
    kernel.set_argument(0, 20);
    kernel.set_size(20 * 64, 64);
    kernel.dispatch.count = true;
    Engine engine({.threads = 1, .seed = seed});
    return engine.run(kernel.dispatch).counters;
  };
  for (const uint64_t seed : {0, 5}) {
    const Counters a = counters(seed);
    const Counters b = counters(seed);
    EXPECT_GT(a.instructions, 0u);
    EXPECT_EQ(a.instructions, b.instructions);
    EXPECT_EQ(a.branch_taken, b.branch_taken);
    EXPECT_EQ(a.modelled_cycles, b.modelled_cycles);
  }
}

// A thread of the second wave reads a word of LDS right after a barrier; the first wave replaces it
// some instructions later, with no barrier between. What the reader saw: the old value, 5, on any
// GPU, since its waves leave the barrier side by side.
struct Hurry {
  uint64_t seed = 0;
  int pause = 24;  // instructions between the read and the write
  bool count = false;
};
uint32_t value_read_after_barrier(const Hurry& hurry) {
  std::string pause;
  for (int i = 0; i < hurry.pause; ++i) pause += "v_add_u32 v5, v5, v5\n";
  TestKernel kernel({}, R"(
      s_mov_b32 m0, -1
      s_mov_b32 s8, 0x400000
      s_mov_b32 s9, 0
      v_and_b32 v0, 0x3ff, v0
      v_lshlrev_b32 v1, 2, v0
      v_add_u32 v2, 5, v0
      ds_write_b32 v1, v2
      v_mov_b32 v3, 0
      s_waitcnt lgkmcnt(0)
      s_barrier
      ds_read_b32 v4, v3
      s_waitcnt lgkmcnt(0)
    )" + pause + R"(
      v_mov_b32 v2, 77
      ds_write_b32 v1, v2
      global_store_dword v1, v4, s[8:9]
      s_endpgm)");
  kernel.set_size(128, 128);
  kernel.dispatch.group_segment_bytes = 512;
  kernel.dispatch.count = hurry.count;
  Engine engine({.threads = 1, .seed = hurry.seed});
  const DispatchResult result = engine.run(kernel.dispatch);
  EXPECT_FALSE(result.fault);
  if (hurry.count) {
    EXPECT_EQ(result.counters.instructions, 2u * (16 + hurry.pause));
  }
  EXPECT_EQ(kernel.data(0), 5u);
  return kernel.data(64);
}

TEST(Order, WavesLeaveABarrierSideBySide) {
  for (const int pause : {0, 24, 3000}) {
    EXPECT_EQ(value_read_after_barrier({.pause = pause}), 5u) << pause;
    EXPECT_EQ(value_read_after_barrier({.pause = pause, .count = true}), 5u) << pause;
  }
}

// Each wave adds to what its neighbour had, in place and without any barrier, as often as it likes:
// all read before one writes, all write before one reads.
TEST(Order, WavesThatReadAndWriteInTurnStaySideBySide) {
  TestKernel kernel({}, R"(
      s_mov_b32 m0, -1
      s_mov_b32 s8, 0x400000
      s_mov_b32 s9, 0
      v_and_b32 v0, 0x3ff, v0
      v_lshlrev_b32 v1, 2, v0
      v_add_u32 v2, 64, v0
      v_and_b32 v2, 0xff, v2
      v_lshlrev_b32 v2, 2, v2
      ds_write_b32 v1, v0
      s_movk_i32 s10, 0
      s_waitcnt lgkmcnt(0)
      s_barrier
    again:
      ds_read_b32 v3, v2
      ds_read_b32 v4, v1
      s_waitcnt lgkmcnt(0)
      v_add_u32 v3, v3, v4
      ds_write_b32 v1, v3
      s_add_u32 s10, s10, 1
      s_cmp_lt_u32 s10, 7
      s_cbranch_scc1 again
      global_store_dword v1, v3, s[8:9]
      s_endpgm)");
  kernel.set_size(256, 256);
  kernel.dispatch.group_segment_bytes = 1024;
  Engine engine({.threads = 1});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  uint32_t value[256];
  for (uint32_t i = 0; i < 256; ++i) value[i] = i;
  for (int round = 0; round < 7; ++round) {
    uint32_t next[256];
    for (uint32_t i = 0; i < 256; ++i) next[i] = value[i] + value[(i + 64) % 256];
    std::copy(std::begin(next), std::end(next), value);
  }
  for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(kernel.data(i), value[i]) << i;
}

TEST(Order, ASeedLetsOneWaveRunAhead) {
  std::set<uint32_t> seen;
  for (uint64_t seed = 1; seed < 20; ++seed) seen.insert(value_read_after_barrier({.seed = seed}));
  EXPECT_EQ(seen, (std::set<uint32_t>{5, 77}));
}

// --- Early ends.

TEST(EarlyEnd, CancellationStopsASpinningKernel) {
  for (const char* loop : {"again:\ns_branch again", "again:\ns_sleep 1\ns_branch again",
                           "s_barrier\nagain:\ns_branch again"}) {
    TestKernel kernel({}, loop);
    kernel.set_size(4096 * 64, 64);
    std::atomic<bool> cancelled{false};
    kernel.dispatch.cancelled = &cancelled;
    Engine engine({.threads = 2});
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancelled = true;
    });
    const DispatchResult result = engine.run(kernel.dispatch);
    canceller.join();
    EXPECT_TRUE(result.cancelled);
    EXPECT_FALSE(result.fault);
    // The engine is as good as new.
    TestKernel next({}, "s_endpgm");
    EXPECT_FALSE(engine.run(next.dispatch).fault);
  }
}

TEST(EarlyEnd, TheWatchdogEndsAnEndlessLoop) {
  TestKernel kernel({}, "again:\ns_nop 0\ns_branch again");
  Engine engine({.threads = 1, .watchdog_instructions = 50'001});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, FaultKind::kWatchdog);
  TestKernel short_one({}, "s_nop 0\ns_endpgm");
  EXPECT_FALSE(engine.run(short_one.dispatch).fault);
}

TEST(EarlyEnd, AFaultStopsTheOtherWorkgroups) {
  TestKernel kernel(
      {}, "s_cmp_eq_u32 s2, 100\ns_cbranch_scc1 fail\nagain:\ns_branch again\nfail:\ns_trap 2");
  kernel.set_size(4096 * 64, 64);
  Engine engine({.threads = 2});
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, FaultKind::kTrap);
  EXPECT_EQ(result.fault->trap_id, 2);
  EXPECT_EQ(result.fault->workgroup[0], 100u);
}

// A grid of a million workgroups must not allocate per workgroup.
TEST(Memory, ALargeGridReusesStorage) {
  TestKernel kernel({}, std::string(kPrologue) + "global_atomic_add v1, v2, s[8:9]\ns_endpgm");
  kernel.set_size(64 * 200'000, 64);
  kernel.dispatch.group_segment_bytes = 65536;
  rusage before;
  getrusage(RUSAGE_SELF, &before);
  Engine engine({.threads = 2});
  ASSERT_FALSE(engine.run(kernel.dispatch).fault);
  rusage after;
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(kernel.data(0), 200'000u);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50'000);  // KiB
}

}  // namespace
}  // namespace wavetap::emu
