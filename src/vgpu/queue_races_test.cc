// Copies and kernels of real queues, with and without signals between them. The engine is a function, and what kernels
// touch is ranges. tests/sanitize/stream_races.hip has whole programs.
#include "vgpu/queue_races.h"

#include <gtest/gtest.h>

#include <thread>

#include "vgpu/dispatch_hook.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

using Packet = std::vector<uint32_t>;

Packet copy(GpuAddr to, GpuAddr from, uint32_t size_bytes) {
  return {1, size_bytes - 1, 0, low(from), high(from), low(to), high(to)};
}
// Waits for a word to be 0, as ROCr has the copy engine wait for both halves of a signal's value.
Packet poll(GpuAddr address) {
  return {8u | 3u << 28 | 1u << 31, low(address), high(address), 0, 0xffffffff, 4u | 0xfffu << 16};
}
Packet decrement(GpuAddr address) {
  constexpr uint32_t kAdd64 = 47;
  return {10u | kAdd64 << 25, low(address), high(address), 0xffffffff, 0xffffffff, 0, 0, 0};
}
GpuAddr value_of(GpuAddr signal) { return signal + offsetof(amd::Signal, value); }

class NoMap final : public sanitize::MemoryMap {
 public:
  uint64_t epoch() const noexcept override { return 0; }
  void list(std::vector<sanitize::Block>&) const noexcept override {}
  sanitize::Neighbour neighbour(GpuAddr) const noexcept override { return {}; }
};

// Feeds races as the sanitizer does. A kernel writes the 64 bytes that its kernel arguments are at.
class Racing final : public DispatchHook {
 public:
  Interest interest(const DispatchView&) noexcept override { return Interest::kSome; }
  void* before(DispatchView& view) noexcept override {
    return new QueueCounts(races.order().over_before(*view.queue));
  }
  void after(const DispatchView& view, void* state) noexcept override {
    const std::unique_ptr<QueueCounts> over_before(static_cast<QueueCounts*>(state));
    keep(races.end({.queue = view.queue_id,
                    .index = view.dispatch.dispatch_id,
                    .over_before = *over_before,
                    .kernel = {},
                    .marks = {},
                    .mover = {.what = sanitize::MoverKind::kHost,
                              .to = 0,
                              .from = 0,
                              .size_bytes = 64,
                              .time_ns = 0},
                    .ranges = {{view.dispatch.kernarg.value, 64, true}}},
                   map_));
  }
  void queue_added(Queue& queue) noexcept override { races.order().add(queue); }
  void packet_waited(Queue& queue, uint64_t index,
                     std::span<const uint64_t> signals) noexcept override {
    keep(races.end_copy(queue, map_));
    races.order().waited(queue, index, signals);
  }
  void packet_finished(Queue& queue, uint64_t index, uint64_t signal) noexcept override {
    if (signal != 0) keep(races.end_copy(queue, map_));
    races.order().packet_finished(queue, index, signal);
  }
  void memory_moved(Queue& queue, uint64_t index,
                    std::span<const sanitize::MovedRange> ranges) noexcept override {
    races.moved(queue, index, ranges, 1);
  }

  std::vector<sanitize::Kind> found() {
    const std::lock_guard lock(mutex_);
    return kinds_;
  }

  QueueRaces races;

 private:
  void keep(const std::vector<QueueRace>& more) {
    const std::lock_guard lock(mutex_);
    for (const QueueRace& race : more) kinds_.push_back(race.finding.kind);
  }

  NoMap map_;
  std::mutex mutex_;
  std::vector<sanitize::Kind> kinds_;
};

// Kernels wait until they may end, so that whatever comes is submitted before.
class CopyRaces : public testing::Test {
 protected:
  CopyRaces() {
    engine.run = [this](const emu::Dispatch& dispatch) {
      while (!(dispatch.kernel_object.value == kGate ? may_go : may_end).load()) sched_yield();
      return emu::DispatchResult{};
    };
  }
  ~CopyRaces() override { may_end = may_go = true; }

  // A signal that a kernel of another queue completes when the test lets it: what waits for it learns nothing of others.
  GpuAddr gate() {
    const GpuAddr open = gpu.make_signal(1);
    gates.submit_dispatch(kGate, open, gpu.allocate(64));
    return open;
  }

  QueueHooks queue_hooks() {
    QueueHooks all = engine.hooks();
    all.dispatch = hooks;
    return all;
  }

  static constexpr uint64_t kGate = 0x200;
  std::atomic<bool> may_end{false};
  std::atomic<bool> may_go{false};
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  Racing racing;
  std::vector<DispatchHook*> hooks{&racing};
  QueueTable table{events, queue_hooks()};
  const GpuAddr data = gpu.allocate(4096);
  const GpuAddr elsewhere = gpu.allocate(4096);
  const GpuAddr kernel_over = gpu.make_signal(1);
  const GpuAddr copy_over = gpu.make_signal(1);
  TestAqlQueue kernels{gpu, table};
  TestAqlQueue gates{gpu, table};
  TestSdmaQueue copies{gpu, table};
};

TEST_F(CopyRaces, AreFoundWhereNothingOrdersThem) {
  kernels.submit_dispatch(0x100, kernel_over, data + 64);
  copies.append(copy(elsewhere, data, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  may_end = true;
  ASSERT_TRUE(gpu.waits_for(kernel_over, 0));
  EXPECT_EQ(racing.found(), std::vector{sanitize::Kind::kWriteAfterRead});
}

TEST_F(CopyRaces, OtherMemoryIsNone) {
  kernels.submit_dispatch(0x100, kernel_over, data + 128);
  copies.append(copy(elsewhere, data, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  may_end = true;
  ASSERT_TRUE(gpu.waits_for(kernel_over, 0));
  EXPECT_TRUE(racing.found().empty());
}

TEST_F(CopyRaces, ACopyThatWaitsForTheKernelIsNone) {
  kernels.submit_dispatch(0x100, kernel_over, data);
  copies.append(poll(value_of(kernel_over) + 4));
  copies.append(poll(value_of(kernel_over)));
  copies.append(copy(elsewhere, data, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  may_end = true;
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  EXPECT_TRUE(racing.found().empty());
}

TEST_F(CopyRaces, AKernelThatWaitsForTheCopyIsNone) {
  const GpuAddr go = gate();
  copies.append(poll(value_of(go)));
  copies.append(copy(data, elsewhere, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  kernels.submit_barrier(amd::PacketType::kBarrierAnd, {copy_over}, {});
  kernels.submit_dispatch(0x100, kernel_over, data);
  may_end = true;
  may_go = true;
  ASSERT_TRUE(gpu.waits_for(kernel_over, 0));
  EXPECT_TRUE(racing.found().empty());
}

TEST_F(CopyRaces, AKernelThatWaitsForAnotherCopyIsOne) {
  const GpuAddr go = gate();
  TestSdmaQueue others(gpu, table);
  const GpuAddr other_over = gpu.make_signal(1);
  copies.append(poll(value_of(go)));
  copies.append(copy(data, elsewhere, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  kernels.submit_barrier(amd::PacketType::kBarrierAnd, {other_over}, {});
  kernels.submit_dispatch(0x100, kernel_over, data);
  others.append(copy(elsewhere + 2048, elsewhere + 1024, 64));
  others.append(decrement(value_of(other_over)));
  others.ring_doorbell();
  may_end = true;
  ASSERT_TRUE(gpu.waits_for(kernel_over, 0));
  may_go = true;
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  EXPECT_EQ(racing.found(), std::vector{sanitize::Kind::kWriteAfterWrite});
}

TEST_F(CopyRaces, TwoCopiesOfDifferentQueues) {
  const GpuAddr go = gate();
  TestSdmaQueue others(gpu, table);
  const GpuAddr other_over = gpu.make_signal(1);
  copies.append(poll(value_of(go)));
  copies.append(copy(data, elsewhere, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  // In pieces, as large copies are.
  others.append(copy(elsewhere + 2048, data, 64));
  others.append(copy(elsewhere + 2112, data + 64, 64));
  others.append(decrement(value_of(other_over)));
  others.ring_doorbell();
  ASSERT_TRUE(gpu.waits_for(other_over, 0));
  may_go = true;
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  EXPECT_EQ(racing.found(), std::vector{sanitize::Kind::kWriteAfterRead});
}

TEST_F(CopyRaces, WhatIsSubmittedWhenTheOtherIsOverIsNone) {
  may_end = true;
  kernels.submit_dispatch(0x100, kernel_over, data);
  ASSERT_TRUE(gpu.waits_for(kernel_over, 0));
  copies.append(copy(elsewhere, data, 128));
  copies.append(decrement(value_of(copy_over)));
  copies.ring_doorbell();
  ASSERT_TRUE(gpu.waits_for(copy_over, 0));
  EXPECT_TRUE(racing.found().empty());
}

}  // namespace
}  // namespace wavetap::vgpu
