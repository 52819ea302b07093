// Hooks around dispatches of real queues; the engine is a function.
#include "vgpu/dispatch_hook.h"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

using ::testing::ElementsAre;

// Notes what happens around it.
class NotingHook : public DispatchHook {
 public:
  NotingHook(std::string name, std::vector<std::string>& notes, Interest interest)
      : name_(std::move(name)), notes_(notes), interest_(interest) {}
  Interest interest(const DispatchView&) noexcept override { return interest_; }
  void* before(DispatchView& view) noexcept override {
    notes_.push_back("before " + name_);
    alone = view.alone;
    return this;
  }
  void after(const DispatchView& view, void* state) noexcept override {
    notes_.push_back("after " + name_);
    EXPECT_EQ(state, this);
    begin = view.times.begin.value;
    end = view.times.end.value;
    faulted = view.result->fault.has_value();
  }

  bool alone = false;
  bool faulted = false;
  uint64_t begin = 0;
  uint64_t end = 0;

 private:
  std::string name_;
  std::vector<std::string>& notes_;
  Interest interest_;
};

struct Machine {
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  std::vector<DispatchHook*> hooks;

  QueueHooks queue_hooks() {
    QueueHooks all = engine.hooks();
    all.dispatch = hooks;
    return all;
  }
};

TEST(DispatchHook, SurroundsADispatchInTheOrderOfTheList) {
  Machine machine;
  std::vector<std::string> notes;
  NotingHook outer("outer", notes, Interest::kSome);
  NotingHook absent("absent", notes, Interest::kNone);
  NotingHook inner("inner", notes, Interest::kSome);
  machine.hooks = {&outer, &absent, &inner};
  machine.engine.run = [&](const emu::Dispatch&) {
    notes.push_back("run");
    return emu::DispatchResult{};
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_THAT(notes,
              ElementsAre("before outer", "before inner", "run", "after inner", "after outer"));
  EXPECT_FALSE(outer.alone);
}

TEST(DispatchHook, MayChangeWhatRuns) {
  class Swapper : public DispatchHook {
   public:
    Interest interest(const DispatchView& view) noexcept override {
      return view.packet.kernel_object == 0x100 ? Interest::kSome : Interest::kNone;
    }
    void* before(DispatchView& view) noexcept override {
      view.dispatch.kernel_object = {0x200};
      view.dispatch.count = true;
      return nullptr;
    }
  };
  Machine machine;
  Swapper swapper;
  machine.hooks = {&swapper};
  std::vector<uint64_t> ran;
  machine.engine.run = [&](const emu::Dispatch& dispatch) {
    ran.push_back(dispatch.kernel_object.value + (dispatch.count ? 1 : 0));
    return emu::DispatchResult{};
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(2);
  queue.submit_dispatch(0x100, signal);
  queue.submit_dispatch(0x300, signal);
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_THAT(ran, ElementsAre(0x201, 0x300));
}

TEST(DispatchHook, SeesTheFaultAndTheTimesTheSignalGets) {
  Machine machine;
  std::vector<std::string> notes;
  NotingHook hook("hook", notes, Interest::kSome);
  machine.hooks = {&hook};
  bool fault = false;
  machine.engine.run = [&](const emu::Dispatch&) {
    emu::DispatchResult result;
    if (fault) {
      result.fault.emplace();
      result.fault->kind = emu::FaultKind::kIllegalInstruction;
    }
    return result;
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  const auto* stamps = machine.gpu.at<amd::Signal>(signal);
  EXPECT_EQ(stamps->start_ts, hook.begin);
  EXPECT_EQ(stamps->end_ts, hook.end);
  EXPECT_FALSE(hook.faulted);
  fault = true;
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(eventually([&] { return queue.queue_error() != 0; }));
  EXPECT_TRUE(hook.faulted);
}

// Two queues whose kernels note how many run at once; one of them wants to be alone.
TEST(DispatchHook, AloneMeansThatEveryOtherQueueStandsStill) {
  class AloneForOne : public DispatchHook {
   public:
    Interest interest(const DispatchView& view) noexcept override {
      return view.packet.kernel_object == 0x100 ? Interest::kAlone : Interest::kNone;
    }
    void* before(DispatchView& view) noexcept override {
      alone.fetch_add(view.alone ? 1 : 0);
      return nullptr;
    }
    std::atomic<int> alone{0};
  };
  Machine machine;
  AloneForOne hook;
  machine.hooks = {&hook};
  std::atomic<int> running{0};
  std::atomic<int> disturbed{0};
  machine.engine.run = [&](const emu::Dispatch& dispatch) {
    running.fetch_add(1);
    // Few of these give the processor away: on a busy machine each of them may last a time slice.
    for (int i = 0; i < 50; ++i) {
      if (dispatch.kernel_object.value == 0x100 && running.load() != 1) disturbed.fetch_add(1);
      if (i % 25 == 0) std::this_thread::yield();
    }
    running.fetch_sub(1);
    return emu::DispatchResult{};
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue lonely(machine.gpu, table);
  TestAqlQueue also_lonely(machine.gpu, table);
  TestAqlQueue busy(machine.gpu, table);
  TestSdmaQueue copies(machine.gpu, table);
  constexpr int kEach = 100;
  const GpuAddr signal = machine.gpu.make_signal(3 * kEach);
  const GpuAddr from = machine.gpu.allocate(64);
  const GpuAddr to = machine.gpu.allocate(64);
  for (int i = 0; i < kEach; ++i) {
    lonely.submit_dispatch(0x100, signal);
    also_lonely.submit_dispatch(0x100, signal);
    busy.submit_dispatch(0x200, signal);
    copies.submit({1, 63, 0, low(from), high(from), low(to), high(to)});
  }
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_TRUE(copies.drains());
  EXPECT_EQ(disturbed.load(), 0);
  EXPECT_EQ(hook.alone.load(), 2 * kEach);
}

// A queue that waits inside a barrier packet stands still as well.
TEST(DispatchHook, AQueueInsideABarrierDoesNotDelayALonelyDispatch) {
  Machine machine;
  std::vector<std::string> notes;
  NotingHook hook("hook", notes, Interest::kAlone);
  machine.hooks = {&hook};
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue waiting(machine.gpu, table);
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr gate = machine.gpu.make_signal(1);
  const GpuAddr passed = machine.gpu.make_signal(1);
  waiting.submit_barrier(amd::PacketType::kBarrierAnd, {gate}, passed);
  const GpuAddr signal = machine.gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_TRUE(hook.alone);
  machine.gpu.store<int64_t>(gate + 8, 0);
  EXPECT_TRUE(machine.gpu.waits_for(passed, 0));
}

// A kernel of another queue that does not end: the dispatch runs all the same, and is told.
TEST(DispatchHook, ADispatchThatCannotBeAloneIsToldSo) {
  class AloneForOne : public DispatchHook {
   public:
    Interest interest(const DispatchView& view) noexcept override {
      return view.packet.kernel_object == 0x100 ? Interest::kAlone : Interest::kNone;
    }
    void* before(DispatchView& view) noexcept override {
      alone = view.alone;
      return nullptr;
    }
    std::atomic<bool> alone{true};
  };
  Machine machine;
  AloneForOne hook;
  machine.hooks = {&hook};
  std::atomic<bool> leave{false};
  std::atomic<bool> inside{false};
  machine.engine.run = [&](const emu::Dispatch& dispatch) {
    if (dispatch.kernel_object.value == 0x200) {
      inside = true;
      while (!leave.load()) std::this_thread::yield();
    }
    return emu::DispatchResult{};
  };
  QueueHooks hooks = machine.queue_hooks();
  hooks.alone_patience_ms = 20;
  QueueTable table(machine.events, hooks);
  TestAqlQueue other(machine.gpu, table);
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr late = machine.gpu.make_signal(1);
  const GpuAddr signal = machine.gpu.make_signal(1);
  other.submit_dispatch(0x200, late);
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  queue.submit_dispatch(0x100, signal);
  EXPECT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_FALSE(hook.alone.load());
  leave = true;
  EXPECT_TRUE(machine.gpu.waits_for(late, 0));
}

// A kernel that waits for another queue: that one goes on after a while, and the hook is told.
TEST(DispatchHook, ALonelyDispatchThatWaitsForOthersLetsThemGo) {
  class AloneForOne : public DispatchHook {
   public:
    Interest interest(const DispatchView& view) noexcept override {
      return view.packet.kernel_object == 0x100 ? Interest::kAlone : Interest::kNone;
    }
    void* before(DispatchView& view) noexcept override {
      alone_before = view.alone;
      return nullptr;
    }
    void after(const DispatchView& view, void*) noexcept override { alone_after = view.alone; }
    std::atomic<bool> alone_before{false};
    std::atomic<bool> alone_after{true};
  };
  Machine machine;
  AloneForOne hook;
  machine.hooks = {&hook};
  std::atomic<bool> inside{false};
  std::atomic<bool> came{false};
  std::atomic<bool> gave_up{false};
  machine.engine.run = [&](const emu::Dispatch& dispatch) {
    if (dispatch.kernel_object.value != 0x100) {
      came = true;
      return emu::DispatchResult{};
    }
    inside = true;
    if (!eventually([&] { return came.load(); })) gave_up = true;
    return emu::DispatchResult{};
  };
  QueueHooks hooks = machine.queue_hooks();
  hooks.alone_patience_ms = 20;
  QueueTable table(machine.events, hooks);
  TestAqlQueue queue(machine.gpu, table);
  TestAqlQueue other(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(2);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  other.submit_dispatch(0x200, signal);
  EXPECT_TRUE(machine.gpu.waits_for(signal, 0));
  EXPECT_FALSE(gave_up.load());
  EXPECT_TRUE(hook.alone_before.load());
  EXPECT_FALSE(hook.alone_after.load());
}

// Destroying queues must not wait for the one that holds them.
TEST(DispatchHook, AHeldQueueCanBeDestroyed) {
  Machine machine;
  std::vector<std::string> notes;
  NotingHook hook("hook", notes, Interest::kAlone);
  machine.hooks = {&hook};
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  machine.engine.run = [&](const emu::Dispatch&) {
    inside = true;
    while (!leave.load()) std::this_thread::yield();
    return emu::DispatchResult{};
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  TestAqlQueue held(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  const GpuAddr never = machine.gpu.make_signal(1);
  held.submit_barrier(amd::PacketType::kBarrierAnd, {}, never);
  EXPECT_EQ(table.destroy(held.handle.id), 0);
  EXPECT_EQ(machine.gpu.value_of(never), 1);
  leave = true;
  EXPECT_TRUE(machine.gpu.waits_for(signal, 0));
}

}  // namespace
}  // namespace wavetap::vgpu
