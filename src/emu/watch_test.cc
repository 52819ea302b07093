// Watchers on whole dispatches: what they are asked, what they are told, and in which order.
#include "emu/watch.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emu/engine.h"
#include "emu/launch.h"
#include "emu/testing/kernel.h"
#include "emu/testing/targets.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::emu::watch_test {
namespace {

// Writes down everything it is told as short lines. For one thread.
class Diary : public Watcher {
 public:
  explicit Diary(Wants wants = {}, std::string only = "") : wants_(wants), only_(std::move(only)) {}

  Wants wants(const isa::Program& program, int32_t index) noexcept override {
    const std::string name = isa::op_name(program.insts()[index].op);
    ++asked[name];
    if (!only_.empty() && name != only_) return {};
    Wants wants = wants_;
    wants.tag = static_cast<uintptr_t>(index) + 100;
    return wants;
  }
  void dispatch_began(const Launch& launch) noexcept override {
    note("dispatch of " + std::to_string(launch.group_count));
  }
  void dispatch_ended(const Launch&, const DispatchResult& result) noexcept override {
    note(result.fault ? "dispatch faulted" : result.cancelled ? "dispatch cancelled" : "dispatch");
  }
  void workgroup_began(const Workgroup& group, void*& state) noexcept override {
    EXPECT_EQ(state, nullptr);
    state = this;
    note("group " + std::to_string(group.id[0]) + " began");
  }
  void wave_began(const Wave& wave, void*& state) noexcept override {
    EXPECT_EQ(state, this);
    note("wave " + std::to_string(wave.wave_in_group) + " began");
  }
  void wave_ended(const Wave& wave, void*&) noexcept override {
    const char* how = wave.state == WaveState::kFinished  ? " ended"
                      : wave.state == WaveState::kFaulted ? " faulted"
                                                          : " was abandoned";
    note("wave " + std::to_string(wave.wave_in_group) + how);
  }
  void workgroup_ended(const Workgroup& group, void*& state) noexcept override {
    EXPECT_EQ(state, this);
    note("group " + std::to_string(group.id[0]) + " ended");
  }
  bool hears_barriers() const noexcept override { return true; }
  void barrier_reached(const Wave& wave, GpuAddr pc, void*&) noexcept override {
    note("wave " + std::to_string(wave.wave_in_group) + " at barrier " + place(pc));
  }
  void barrier_passed(const Workgroup&, void*&) noexcept override { note("barrier passed"); }
  void before(const WatchPoint& at) noexcept override { note("before " + name(at)); }
  void uses_registers(const WatchPoint& at, std::span<const RegisterUse> uses) noexcept override {
    note("registers of " + name(at));
    EXPECT_EQ(uses.empty(), at.inst.family == isa::Family::kSopp);
  }
  void accessing(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept override {
    for (const MemoryAccess& access : accesses) note("accessing " + name(at) + describe(access));
  }
  void accessed(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept override {
    for (const MemoryAccess& access : accesses) {
      note("accessed " + name(at) + describe(access));
      std::array<std::byte, 16> memory{}, registers{};
      const int lane = std::countr_zero(access.mask);
      if (access.mask == 0 || access.data == nullptr) continue;
      EXPECT_TRUE(read_memory(at.wave, access, lane, memory.data()));
      EXPECT_TRUE(read_registers(at.wave, access, lane, registers.data()));
      if (access.access == Access::kLoad || access.access == Access::kStore) {
        EXPECT_EQ(memory, registers) << name(at);
      }
    }
  }
  void after(const WatchPoint& at) noexcept override {
    note("after " + name(at) + (at.wave.state == WaveState::kFaulted ? ", faulted" : ""));
  }

  std::vector<std::string> lines;
  std::map<std::string, int> asked;

 private:
  void note(std::string line) { lines.push_back(std::move(line)); }
  std::string name(const WatchPoint& at) {
    EXPECT_EQ(at.state, this);
    EXPECT_EQ(at.tag, static_cast<uintptr_t>(at.wave.program->index_of(at.pc)) + 100);
    return isa::op_name(at.inst.op) + std::string(" ") + place(at.pc);
  }
  static std::string place(GpuAddr pc) {
    return "+" + std::to_string(pc.value - TestKernel::kObject - TestKernel::kEntryOffset);
  }
  static std::string describe(const MemoryAccess& access) {
    const char* space = access.space == Space::kGlobal ? " global"
                        : access.space == Space::kLds  ? " lds"
                                                       : " scratch";
    return space + std::string(" ") + std::to_string(std::popcount(access.mask)) + "x" +
           std::to_string(access.size_bytes);
  }

  Wants wants_;
  std::string only_;
};

DispatchResult run(TestKernel& kernel, std::initializer_list<Watcher*> watchers,
                   const EngineOptions& options = {.threads = 1}) {
  Engine engine(options);
  const std::vector<Watcher*> list(watchers);
  kernel.dispatch.watchers = list;
  DispatchResult result = engine.run(kernel.dispatch);
  kernel.dispatch.watchers = {};
  return result;
}

using Lines = std::vector<std::string>;

TEST(Watch, TellsOfWavesOnlyWhoWantsToHear) {
  struct Listener : Watcher {
    explicit Listener(bool wants_waves) : hears(wants_waves) {}
    Wants wants(const isa::Program&, int32_t) noexcept override { return {}; }
    bool hears_waves() const noexcept override { return hears; }
    void workgroup_began(const Workgroup&, void*&) noexcept override { ++groups; }
    void wave_began(const Wave&, void*&) noexcept override { ++began; }
    void wave_ended(const Wave&, void*&) noexcept override { ++ended; }
    bool hears;
    int groups = 0, began = 0, ended = 0;
  };
  TestKernel kernel({}, "s_endpgm");
  kernel.set_size(1, 1);
  Listener deaf(false), listening(true);
  EXPECT_FALSE(run(kernel, {&deaf, &listening}).fault);
  EXPECT_EQ(deaf.groups, 1);
  EXPECT_EQ(deaf.began + deaf.ended, 0);
  EXPECT_EQ(listening.began, 1);
  EXPECT_EQ(listening.ended, 1);
}

TEST(Watch, TellsEverythingInOrder) {
  TestKernel kernel({}, R"(
      v_lshlrev_b32 v1, 2, v0
      s_barrier
      ds_write_b32 v1, v0
      s_endpgm)");
  kernel.set_size(1, 1);
  kernel.dispatch.group_segment_bytes = 512;
  Diary diary(
      {.before = true, .uses_registers = true, .accessing = true, .accessed = true, .after = true});
  EXPECT_FALSE(run(kernel, {&diary}).fault);
  EXPECT_EQ(diary.lines, (Lines{"dispatch of 1",
                                "group 0 began",
                                "wave 0 began",
                                "before v_lshlrev_b32 +0",
                                "registers of v_lshlrev_b32 +0",
                                "after v_lshlrev_b32 +0",
                                "before s_barrier +4",
                                "registers of s_barrier +4",
                                "after s_barrier +4",
                                "wave 0 at barrier +4",
                                "barrier passed",
                                "before ds_write_b32 +8",
                                "registers of ds_write_b32 +8",
                                "accessing ds_write_b32 +8 lds 1x4",
                                "accessed ds_write_b32 +8 lds 1x4",
                                "after ds_write_b32 +8",
                                "before s_endpgm +16",
                                "registers of s_endpgm +16",
                                "after s_endpgm +16",
                                "wave 0 ended",
                                "group 0 ended",
                                "dispatch"}));
}

TEST(Watch, TellsOnlyWhatWasAskedFor) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      v_lshlrev_b32 v1, 2, v0
      global_store_dword v1, v0, s[8:9]
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(128, 64);
  Diary stores({.accessing = true}, "global_store_dword");
  Diary nothing;
  EXPECT_FALSE(run(kernel, {&stores, &nothing}).fault);
  EXPECT_EQ(stores.asked["s_endpgm"], 1);
  EXPECT_EQ(stores.asked["global_store_dword"], 1);
  EXPECT_EQ(nothing.asked["s_waitcnt"], 1);
  const Lines expected{"dispatch of 2",
                       "group 0 began",
                       "wave 0 began",
                       "accessing global_store_dword +16 global 64x4",
                       "wave 0 ended",
                       "group 0 ended",
                       "group 1 began",
                       "wave 0 began",
                       "accessing global_store_dword +16 global 64x4",
                       "wave 0 ended",
                       "group 1 ended",
                       "dispatch"};
  EXPECT_EQ(stores.lines, expected);
  Lines without = expected;
  std::erase_if(without, [](const std::string& line) { return line.starts_with("accessing"); });
  EXPECT_EQ(nothing.lines, without);
  EXPECT_EQ(kernel.data(63), 63u);
}

TEST(Watch, SharesLoweredCodeAmongDispatchesOfTheSameWatchersOnly) {
  TestKernel kernel({}, "s_nop 0\ns_endpgm");
  Engine engine({.threads = 1});
  Diary first({.before = true}, "s_nop"), second({.after = true}, "s_nop");
  const auto run_with = [&](std::vector<Watcher*> watchers) {
    kernel.dispatch.watchers = watchers;
    EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  };
  const auto told = [](Diary& diary, const char* what) {
    return std::count(diary.lines.begin(), diary.lines.end(), what);
  };
  run_with({&first});
  run_with({});
  run_with({&first});
  EXPECT_EQ(first.asked["s_nop"], 1);
  EXPECT_EQ(told(first, "before s_nop +0"), 2);
  run_with({&first, &second});
  run_with({&second, &first});
  run_with({&second});
  EXPECT_EQ(first.asked["s_nop"], 3);
  EXPECT_EQ(second.asked["s_nop"], 3);
  EXPECT_EQ(told(first, "before s_nop +0"), 4);
  EXPECT_EQ(told(second, "after s_nop +0"), 3);
  // A watcher that takes a dead one's place in memory is another one.
  const uint64_t id = Diary().id();
  EXPECT_NE(Diary().id(), id);
  // Rewritten code is asked about again.
  kernel.set_code("s_nop 1\ns_endpgm");
  run_with({&first});
  EXPECT_EQ(first.asked["s_nop"], 4);
}

TEST(Watch, WavesMeetAtABarrierAndPassIt) {
  TestKernel kernel({}, R"(
      v_readfirstlane_b32 s3, v0
      s_cmp_eq_u32 s3, 64
      s_cbranch_scc1 end
      s_barrier
    end:
      s_endpgm)");
  kernel.set_size(192, 192);
  Diary diary;
  EXPECT_FALSE(run(kernel, {&diary}).fault);
  EXPECT_EQ(diary.lines,
            (Lines{"dispatch of 1", "group 0 began", "wave 0 began", "wave 1 began", "wave 2 began",
                   "wave 0 at barrier +12", "wave 1 ended", "wave 2 at barrier +12",
                   "barrier passed", "wave 0 ended", "wave 2 ended", "group 0 ended", "dispatch"}));
}

// Of each instruction in the same order, whether told of barriers or not: waves then run in rows.
TEST(Watch, WavesMeetAtABarrierThatNobodyHearsOf) {
  class Deaf final : public Diary {
   public:
    using Diary::Diary;
    bool hears_barriers() const noexcept override { return false; }
  };
  TestKernel kernel({}, R"(
      v_readfirstlane_b32 s3, v0
      s_cmp_eq_u32 s3, 64
      s_cbranch_scc1 end
      s_barrier
      s_barrier
    end:
      s_endpgm)");
  kernel.set_size(192, 192);
  const Wants wants{.before = true, .after = true};
  Diary diary(wants);
  Deaf deaf(wants);
  EXPECT_FALSE(run(kernel, {&diary}).fault);
  EXPECT_FALSE(run(kernel, {&deaf}).fault);
  EXPECT_EQ(
      std::erase_if(diary.lines,
                    [](const std::string& line) { return line.find("at barrier") != line.npos; }),
      4u);
  EXPECT_EQ(deaf.lines, diary.lines);
}

TEST(Watch, EndsWhatBeganWhenAWaveFaults) {
  TestKernel kernel({}, R"(
      v_mov_b32 v1, 0
      s_mov_b64 s[8:9], 0x40
      global_load_dword v2, v1, s[8:9]
      s_endpgm)");
  kernel.set_size(128, 128);
  Diary diary({.accessing = true, .accessed = true, .after = true}, "global_load_dword");
  ASSERT_TRUE(run(kernel, {&diary}).fault);
  EXPECT_EQ(diary.lines, (Lines{"dispatch of 1", "group 0 began", "wave 0 began", "wave 1 began",
                                "accessing global_load_dword +8 global 64x4",
                                "after global_load_dword +8, faulted", "wave 0 faulted",
                                "wave 1 was abandoned", "group 0 ended", "dispatch faulted"}));
}

// Stops each wave at its first store.
class Stopper final : public Watcher {
 public:
  Wants wants(const isa::Program& program, int32_t index) noexcept override {
    return {.before = program.insts()[index].op == isa::Op::global_store_dword};
  }
  void before(const WatchPoint& at) noexcept override {
    at.wave.raise(FaultKind::kTrap, "stopped by a watcher");
  }
};

TEST(Watch, MayStopAWaveBeforeAnInstruction) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x400000
      s_mov_b32 s9, 0
      v_mov_b32 v1, 0
      v_mov_b32 v2, 5
      global_store_dword v1, v2, s[8:9]
      s_endpgm)");
  Stopper stopper;
  const DispatchResult result = run(kernel, {&stopper});
  ASSERT_TRUE(result.fault);
  EXPECT_STREQ(result.fault->detail, "stopped by a watcher");
  EXPECT_EQ(result.fault->pc.value, TestKernel::kObject + TestKernel::kEntryOffset + 20);
  EXPECT_EQ(kernel.data(0), 0u);
}

TEST(Watch, CountsTheSameWithAndWithoutWatchers) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      v_lshlrev_b32 v1, 2, v0
      v_add_f32 v2, v0, v0
      ds_write_b32 v1, v2
      s_barrier
      ds_read_b32 v3, v1
      global_store_dword v1, v3, s[8:9]
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(256, 128);
  kernel.dispatch.group_segment_bytes = 512;
  kernel.dispatch.count = true;
  Diary diary({.before = true, .accessing = true, .after = true});
  const Counters plain = run(kernel, {}).counters;
  const Counters watched = run(kernel, {&diary}).counters;
#define WT_COUNTER(name, help) EXPECT_EQ(plain.name, watched.name) << #name;
#include "emu/counters.inc"
#undef WT_COUNTER
  EXPECT_EQ(plain.bytes_lds, 2u * 256 * 4);
}

// Wants no accesses in the first half of the data, and of rows their first lanes only.
class Screener final : public Watcher {
 public:
  Wants wants(const isa::Program& program, int32_t index) noexcept override {
    const isa::Family family = program.insts()[index].family;
    const bool is_memory = family == isa::Family::kFlat || family == isa::Family::kDs;
    return {.accessing = is_memory,
            .screens = true,
            .leaves_out_lds = leaves_out_lds,
            .rows_suffice = true};
  }
  bool screen(const WatchPoint&, const ByteSpan* span) noexcept override {
    ++asked;
    if (span == nullptr) return true;
    spans.push_back(*span);
    return span->space == Space::kGlobal && span->begin >= TestKernel::kData + 1024;
  }
  void accessing(const WatchPoint&, std::span<const MemoryAccess> accesses) noexcept override {
    for (const MemoryAccess& access : accesses) {
      const WholeAccess whole(access);
      first.push_back(access.address[0]);
      last.push_back((*whole).address[63]);
    }
  }
  bool leaves_out_lds = false;
  int asked = 0;
  std::vector<ByteSpan> spans;
  std::vector<uint64_t> first, last;
};

TEST(Watch, TellsOfAccessesOnlyWhoLetsThemThrough) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      v_lshlrev_b32 v1, 2, v0
      global_store_dword v1, v0, s[8:9]
      global_store_dword v1, v0, s[8:9] offset:1024
      global_store_dwordx2 v1, v[0:1], s[8:9] offset:2048
      ds_write_b32 v1, v0 offset:8
      ds_read2_b32 v[4:5], v1 offset1:3
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(64, 64);
  kernel.dispatch.group_segment_bytes = 1024;
  Screener screener;
  Diary stores({.accessing = true}, "global_store_dword");
  EXPECT_FALSE(run(kernel, {&screener, &stores}).fault);
  EXPECT_EQ(screener.asked, 5);
  ASSERT_EQ(screener.spans.size(), 5u);
  EXPECT_EQ(screener.spans[0].begin, TestKernel::kData);
  EXPECT_EQ(screener.spans[0].end, TestKernel::kData + 256);
  EXPECT_TRUE(screener.spans[0].writes);
  EXPECT_EQ(screener.spans[2].end, TestKernel::kData + 2048 + 252 + 8);
  EXPECT_EQ(screener.spans[3].space, Space::kLds);
  EXPECT_EQ(screener.spans[3].end, 8u + 256);
  EXPECT_EQ(screener.spans[4].end, 252u + 3 * 4 + 4);
  EXPECT_FALSE(screener.spans[4].writes);
  EXPECT_EQ(screener.first,
            (std::vector<uint64_t>{TestKernel::kData + 1024, TestKernel::kData + 2048}));
  EXPECT_EQ(screener.last, (std::vector<uint64_t>{TestKernel::kData + 1024 + 252,
                                                  TestKernel::kData + 2048 + 252}));
  // Another one hears of both all the same.
  EXPECT_EQ(std::count_if(stores.lines.begin(), stores.lines.end(),
                          [](const std::string& line) { return line.starts_with("accessing"); }),
            2);
}

TEST(Watch, AsksWhoIsAloneForWhatTheActiveLanesAccess) {
  TestKernel kernel({}, R"(
      s_load_dwordx2 s[8:9], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      v_lshlrev_b32 v1, 2, v0
      v_mov_b32 v2, s8
      v_mov_b32 v3, s9
      v_add_co_u32 v2, vcc, v2, v1
      v_addc_co_u32 v3, vcc, 0, v3, vcc
      ds_write_b32 v1, v0
      ds_write_b32 v1, v0 offset:776
      s_mov_b64 exec, 0x30
      global_store_dword v1, v0, s[8:9]
      global_store_dword v[2:3], v0, off
      ds_write_b32 v1, v0 offset:984
      ds_write_b32 v1, v0 offset:1004
      s_endpgm)");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(64, 64);
  kernel.dispatch.group_segment_bytes = 1024;
  Screener screener;
  screener.leaves_out_lds = true;
  EXPECT_FALSE(run(kernel, {&screener}).fault);
  ASSERT_EQ(screener.spans.size(), 4u);
  EXPECT_EQ(screener.asked, 4);
  EXPECT_EQ(screener.spans[0].end, 776u + 256) << "past the end of LDS";
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(screener.spans[i].begin, TestKernel::kData + 16);
    EXPECT_EQ(screener.spans[i].end, TestKernel::kData + 24);
  }
  EXPECT_EQ(screener.spans[3].end, 1004u + 24);
}

// Counts from many threads.
class Tally final : public Watcher {
 public:
  Wants wants(const isa::Program&, int32_t) noexcept override { return {.before = true}; }
  void workgroup_began(const Workgroup&, void*& state) noexcept override {
    state = new uint64_t(0);
  }
  void workgroup_ended(const Workgroup&, void*& state) noexcept override {
    auto* const count = static_cast<uint64_t*>(state);
    total += *count;
    ++groups;
    delete count;
  }
  void before(const WatchPoint& at) noexcept override { ++*static_cast<uint64_t*>(at.state); }

  std::atomic<uint64_t> total{0};
  std::atomic<int> groups{0};
};

TEST(Watch, KeepsStatePerWorkgroupOnManyThreads) {
  TestKernel kernel({}, R"(
      s_movk_i32 s3, 0x40
    loop:
      s_sub_u32 s3, s3, 1
      s_cmp_lg_u32 s3, 0
      s_cbranch_scc1 loop
      s_endpgm)");
  kernel.set_size(64 * 100, 64);
  Tally tally;
  EXPECT_FALSE(run(kernel, {&tally}, {.threads = 4}).fault);
  EXPECT_EQ(tally.groups, 100);
  EXPECT_EQ(tally.total, 100u * (1 + 3 * 64 + 1));
}

TEST(Watch, EndsWorkgroupsOfACancelledDispatch) {
  TestKernel kernel({}, "loop:\ns_branch loop");
  kernel.set_size(64 * 4, 64);
  std::atomic<bool> cancel{false};
  kernel.dispatch.cancelled = &cancel;
  class Canceller final : public Watcher {
   public:
    explicit Canceller(std::atomic<bool>& flag) : flag_(flag) {}
    Wants wants(const isa::Program&, int32_t) noexcept override { return {}; }
    void workgroup_began(const Workgroup&, void*&) noexcept override { ++began, flag_ = true; }
    void workgroup_ended(const Workgroup&, void*&) noexcept override { ++ended; }
    std::atomic<int> began{0}, ended{0};

   private:
    std::atomic<bool>& flag_;
  } watcher(cancel);
  EXPECT_TRUE(run(kernel, {&watcher}, {.threads = 2}).cancelled);
  EXPECT_GT(watcher.began, 0);
  EXPECT_EQ(watcher.began, watcher.ended);
}

TEST(Watch, TellsOfAWaitingInstructionOnce) {
  TestKernel kernel({}, R"(
      v_mov_b32 v2, 1
      s_mov_b32 m0, 0
      ds_gws_barrier v2 gds
      s_endpgm)");
  kernel.set_size(128, 64);
  kernel.dispatch.cooperative = true;
  kernel.memory.wave_sync.resource[0] = 1;  // two workgroups
  Diary diary({.before = true, .after = true}, "ds_gws_barrier");
  EXPECT_FALSE(run(kernel, {&diary}).fault);
  EXPECT_EQ(std::count(diary.lines.begin(), diary.lines.end(), "before ds_gws_barrier +8"), 2);
  EXPECT_EQ(std::count(diary.lines.begin(), diary.lines.end(), "after ds_gws_barrier +8"), 2);
}

TEST(Watch, RefusesMoreWatchersThanThereIsRoomFor) {
  TestKernel kernel({}, "s_endpgm");
  std::vector<Diary> diaries(kMaxWatchers + 1);
  std::vector<Watcher*> watchers;
  for (Diary& diary : diaries) watchers.push_back(&diary);
  Engine engine({.threads = 1});
  kernel.dispatch.watchers = watchers;
  const DispatchResult result = engine.run(kernel.dispatch);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, FaultKind::kBadDescriptor);
  EXPECT_TRUE(diaries[0].lines.empty());
  kernel.dispatch.watchers = std::span(watchers).first(kMaxWatchers);
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  EXPECT_EQ(diaries[kMaxWatchers - 1].lines.size(), 6u);
}

// --- Slices that are abandoned because guest memory is gone.

thread_local sigjmp_buf t_jump;
thread_local bool t_guarded = false;
thread_local uint64_t t_fault_address = 0;

void on_segv(int, siginfo_t* info, void*) {
  if (!t_guarded) _exit(99);
  t_fault_address = reinterpret_cast<uint64_t>(info->si_addr);
  siglongjmp(t_jump, 1);
}

bool run_guarded(void (*body)(void*), void* arg, uint64_t* fault_address) {
  if (sigsetjmp(t_jump, 1) != 0) {
    t_guarded = false;
    *fault_address = t_fault_address;
    return false;
  }
  t_guarded = true;
  body(arg);
  t_guarded = false;
  return true;
}

// Reads what it is told of, before the instruction does.
class Reader final : public Watcher {
 public:
  Wants wants(const isa::Program&, int32_t) noexcept override {
    return {.accessing = true, .accessed = true, .after = true};
  }
  void accessing(const WatchPoint& at, std::span<const MemoryAccess> accesses) noexcept override {
    ++tried;
    std::byte bytes[64];
    for (const MemoryAccess& access : accesses)
      for_each_lane(access.mask, [&](int lane) { read_memory(at.wave, access, lane, bytes); });
    ++read;
  }
  void accessed(const WatchPoint&, std::span<const MemoryAccess>) noexcept override { ++moved; }
  void after(const WatchPoint&) noexcept override { ++finished; }
  void wave_ended(const Wave& wave, void*&) noexcept override {
    EXPECT_EQ(wave.state,
              wave.wave_in_group == faulting ? WaveState::kFaulted : WaveState::kAtBarrier);
    ++ended;
  }
  void workgroup_ended(const Workgroup&, void*&) noexcept override { ++groups; }

  uint32_t faulting = 0;  // the wave that does
  int tried = 0, read = 0, moved = 0, finished = 0, ended = 0, groups = 0;
};

// Memory at 0x900000 that is mapped for the GPU and gone from the host.
DispatchResult run_without_memory(TestKernel& kernel, Reader& reader) {
  struct sigaction action {};
  struct sigaction old {};
  action.sa_sigaction = on_segv;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &old);
  void* gone = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kernel.memory.map_host(0x900000, {static_cast<std::byte*>(gone), 4096}, true, false);
  const DispatchResult result = run(kernel, {&reader}, {.threads = 1, .run_guarded = run_guarded});
  sigaction(SIGSEGV, &old, nullptr);
  munmap(gone, 4096);
  return result;
}

TEST(Watch, LivesWithASliceThatIsAbandonedInTheMiddleOfACallback) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x900000
      s_mov_b32 s9, 0
      v_mov_b32 v1, 0
      global_load_dword v2, v1, s[8:9] offset:16
      s_endpgm)");
  Reader reader;
  const DispatchResult result = run_without_memory(kernel, reader);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, FaultKind::kPageFault);
  EXPECT_EQ(reader.tried, 1);
  EXPECT_EQ(reader.read, 0);
  EXPECT_EQ(reader.moved, 0);
  EXPECT_EQ(reader.finished, 3);  // the instructions before it
  EXPECT_EQ(reader.ended, 1);
  EXPECT_EQ(reader.groups, 1);
}

// One guard is around the slices of all waves that come to the barrier.
TEST(Watch, LivesWithARowOfSlicesThatIsAbandonedInTheMiddleOfACallback) {
  TestKernel kernel({}, R"(
      s_mov_b32 s8, 0x900000
      s_mov_b32 s9, 0
      v_readfirstlane_b32 s3, v0
      s_cmp_eq_u32 s3, 64
      s_cbranch_scc0 wait
      v_mov_b32 v1, 0
      global_load_dword v2, v1, s[8:9] offset:16
    wait:
      s_barrier
      s_endpgm)");
  kernel.set_size(128, 128);
  Reader reader;
  reader.faulting = 1;
  const DispatchResult result = run_without_memory(kernel, reader);
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->kind, FaultKind::kPageFault);
  EXPECT_EQ(reader.tried, 1);
  EXPECT_EQ(reader.read, 0);
  EXPECT_EQ(reader.ended, 2);
  EXPECT_EQ(reader.groups, 1);
}

}  // namespace
}  // namespace wavetap::emu::watch_test
