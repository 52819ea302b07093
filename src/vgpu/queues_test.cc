#include "vgpu/queues.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

class QueuesTest : public testing::Test {
 protected:
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  QueueTable table{events, engine.hooks()};
};

TEST_F(QueuesTest, RefusesBadParameters) {
  TestAqlQueue good(gpu, table);
  ASSERT_EQ(good.create_error, 0);
  QueueParams params;
  params.ring = good.ring;
  params.ring_bytes = 4096;
  params.read_pointer = good.amd_queue + 0x80;
  params.write_pointer = good.amd_queue + 0x38;
  QueueHandle handle;
  const auto create_with = [&](auto change) {
    QueueParams p = params;
    change(p);
    return table.create(p, gpu.gpu, &handle);
  };
  EXPECT_EQ(create_with([](QueueParams& p) { p.ring_bytes = 4000; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.ring_bytes = 0; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.ring = {0x5000}; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.ring_bytes = TestGpu::kBytes * 2; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.read_pointer = {8}; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.write_pointer.value += 1; }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.type = static_cast<QueueType>(9); }), EINVAL);
  EXPECT_EQ(create_with([](QueueParams& p) { p.percentage = 101; }), EINVAL);
  EXPECT_EQ(table.destroy(999), EINVAL);
  EXPECT_EQ(table.update(999, {}), EINVAL);
  EXPECT_EQ(table.set_cu_mask(999, {}), EINVAL);
  EXPECT_EQ(table.live_count(), 1u);
}

TEST_F(QueuesTest, AThousandQueuesComeAndGo) {
  for (int i = 0; i < 1000; ++i) {
    TestAqlQueue queue(gpu, table, 8);
    ASSERT_EQ(queue.create_error, 0);
    // Every tenth is used; the others never get a thread.
    if (i % 10 == 0) {
      const GpuAddr signal = gpu.make_signal(1);
      queue.submit_dispatch(0x100, signal);
      ASSERT_TRUE(gpu.waits_for(signal, 0));
    }
    ASSERT_EQ(table.destroy(queue.handle.id), 0);
  }
  EXPECT_EQ(table.live_count(), 0u);
}

TEST_F(QueuesTest, ManyQueuesLiveAtOnceAndDoorbellsRunOut) {
  std::vector<TestAqlQueue> queues;
  queues.reserve(kQueueLimitPerProcess);
  for (uint32_t i = 0; i < kQueueLimitPerProcess; ++i) {
    queues.emplace_back(gpu, table, 8);
    ASSERT_EQ(queues.back().create_error, 0) << i;
  }
  EXPECT_EQ(TestAqlQueue(gpu, table, 8).create_error, ENOSPC);
  ASSERT_EQ(table.destroy(queues[5].handle.id), 0);
  const TestAqlQueue replacement(gpu, table, 8);
  EXPECT_EQ(replacement.create_error, 0);
  EXPECT_EQ(replacement.handle.doorbell_slot, queues[5].handle.doorbell_slot) << "slots are reused";
  // 128 of them work side by side.
  std::vector<GpuAddr> signals;
  for (int i = 10; i < 138; ++i) {
    signals.push_back(gpu.make_signal(1));
    queues[i].submit_dispatch(0x100, signals.back());
  }
  for (const GpuAddr signal : signals) EXPECT_TRUE(gpu.waits_for(signal, 0));
}

TEST_F(QueuesTest, ASuspendedQueueWaitsAndThenGoesOn) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr first = gpu.make_signal(1);
  queue.submit_dispatch(0x100, first);
  ASSERT_TRUE(gpu.waits_for(first, 0));

  const QueueUpdate suspended{queue.ring, 64 * 64, /*percentage=*/0, 7};
  ASSERT_EQ(table.update(queue.handle.id, suspended), 0);
  const GpuAddr second = gpu.make_signal(1);
  queue.submit_dispatch(0x100, second);
  table.nudge();
  EXPECT_EQ(table.snapshot().at(0).activity, QueueActivity::kSuspended);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(gpu.value_of(second), 1);

  QueueUpdate resumed = suspended;
  resumed.percentage = 100;
  resumed.priority = 11;
  ASSERT_EQ(table.update(queue.handle.id, resumed), 0);
  EXPECT_TRUE(gpu.waits_for(second, 0));
  EXPECT_EQ(table.snapshot().at(0).priority, 11u);
}

TEST_F(QueuesTest, AQueueCreatedSuspendedStartsWhenResumed) {
  TestAqlQueue queue(gpu, table);
  ASSERT_EQ(table.update(queue.handle.id, {queue.ring, 64 * 64, 0, 7}), 0);
  const GpuAddr signal = gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_EQ(table.update(queue.handle.id, {queue.ring, 64 * 64, 100, 7}), 0);
  EXPECT_TRUE(gpu.waits_for(signal, 0));
}

TEST_F(QueuesTest, TheRingCanMove) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr ring = gpu.allocate(64 * 64, 4096);
  for (int i = 0; i < 64; ++i) gpu.store<uint16_t>(ring + i * 64u, 1);
  ASSERT_EQ(table.update(queue.handle.id, {ring, 64 * 64, 100, 7}), 0);
  EXPECT_EQ(table.update(queue.handle.id, {{0x10}, 64 * 64, 100, 7}), EINVAL);
  queue.ring = ring;
  const GpuAddr signal = gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  EXPECT_TRUE(gpu.waits_for(signal, 0));
}

// A kernel that runs until it is cancelled.
emu::DispatchResult endless(const emu::Dispatch& dispatch, std::atomic<bool>& entered) {
  entered = true;
  while (!dispatch.cancelled->load()) sched_yield();
  emu::DispatchResult result;
  result.cancelled = true;
  return result;
}

TEST_F(QueuesTest, DestroyGetsOutOfAKernelThatNeverEnds) {
  std::atomic<bool> entered{false};
  engine.run = [&](const emu::Dispatch& dispatch) { return endless(dispatch, entered); };
  TestAqlQueue queue(gpu, table);
  const GpuAddr signal = gpu.make_signal(1);
  queue.submit_dispatch(0x4200, signal);
  ASSERT_TRUE(eventually([&] { return entered.load(); }));
  const QueueSnapshot shot = table.snapshot().at(0);
  EXPECT_EQ(shot.activity, QueueActivity::kRunning);
  EXPECT_EQ(shot.kernel_object.value, 0x4200u);
  EXPECT_EQ(shot.write_index, 1u);
  EXPECT_EQ(table.destroy(queue.handle.id), 0);
  EXPECT_EQ(gpu.value_of(signal), 1) << "a cancelled dispatch does not complete";
  EXPECT_EQ(queue.read_index(), 0u);
}

TEST_F(QueuesTest, DestroyGetsOutOfABarrierThatNeverPasses) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr never = gpu.make_signal(1);
  queue.submit_barrier(amd::PacketType::kBarrierAnd, {never}, gpu.make_signal(1));
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kWaiting; }));
  EXPECT_EQ(table.destroy(queue.handle.id), 0);
}

TEST_F(QueuesTest, ShutdownStopsEverythingAndTheTableStaysUsable) {
  std::atomic<bool> entered{false};
  engine.run = [&](const emu::Dispatch& dispatch) { return endless(dispatch, entered); };
  std::vector<TestAqlQueue> queues;
  queues.reserve(8);
  for (int i = 0; i < 8; ++i) {
    queues.emplace_back(gpu, table);
    queues.back().submit_dispatch(0x100, {});
  }
  ASSERT_TRUE(eventually([&] { return entered.load(); }));
  table.shutdown();
  EXPECT_EQ(table.live_count(), 0u);
  engine.run = [](const emu::Dispatch&) { return emu::DispatchResult{}; };
  TestAqlQueue after(gpu, table);
  const GpuAddr signal = gpu.make_signal(1);
  after.submit_dispatch(0x100, signal);
  EXPECT_TRUE(gpu.waits_for(signal, 0));
}

TEST_F(QueuesTest, AForkedChildStartsEmptyAndCanMakeQueues) {
#if defined(WT_SANITIZE_THREAD)
  GTEST_SKIP() << "the thread sanitizer refuses threads in a forked child";
#endif
  TestAqlQueue old(gpu, table);
  const GpuAddr before = gpu.make_signal(1);
  old.submit_dispatch(0x100, before);
  ASSERT_TRUE(gpu.waits_for(before, 0));
  const pid_t child = fork();
  if (child == 0) {
    events.after_fork_in_child();
    table.after_fork_in_child();
    if (table.live_count() != 0 || table.destroy(old.handle.id) != EINVAL) _exit(1);
    TestAqlQueue fresh(gpu, table);
    const GpuAddr signal = gpu.make_signal(1);
    fresh.submit_dispatch(0x100, signal);
    _exit(gpu.waits_for(signal, 0) ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  // The parent goes on.
  const GpuAddr after = gpu.make_signal(1);
  old.submit_dispatch(0x100, after);
  EXPECT_TRUE(gpu.waits_for(after, 0));
}

TEST_F(QueuesTest, CuMaskAndCooperationReachTheDispatch) {
  std::atomic<uint32_t> cus{0};
  std::atomic<bool> cooperative{false};
  engine.run = [&](const emu::Dispatch& dispatch) {
    cus = dispatch.cu_count;
    cooperative = dispatch.cooperative;
    return emu::DispatchResult{};
  };
  TestAqlQueue queue(gpu, table);
  const auto dispatch_once = [&] {
    const GpuAddr signal = gpu.make_signal(1);
    queue.submit_dispatch(0x100, signal);
    ASSERT_TRUE(gpu.waits_for(signal, 0));
  };
  dispatch_once();
  EXPECT_EQ(cus, 40u);
  EXPECT_FALSE(cooperative);
  const uint32_t mask[] = {0x0000ffff, 0};
  ASSERT_EQ(table.set_cu_mask(queue.handle.id, mask), 0);
  ASSERT_EQ(table.set_cooperative(queue.handle.id, true), 0);
  dispatch_once();
  EXPECT_EQ(cus, 16u);
  EXPECT_TRUE(cooperative);
  const uint32_t none[] = {0};
  EXPECT_EQ(table.set_cu_mask(queue.handle.id, none), EINVAL);
}

}  // namespace
}  // namespace wavetap::vgpu
