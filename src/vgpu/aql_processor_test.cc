#include "vgpu/aql_processor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "amd/kfd_abi.h"
#include "amd/pm4.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

class AqlTest : public testing::Test {
 protected:
  MemoryFaultData wait_for_memory_fault() {
    EventWait wait{.id = memory_event_.id};
    WaitResult result{};
    EXPECT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
    EXPECT_TRUE(wait.has_memory_fault);
    return wait.memory_fault;
  }

  void SetUp() override {
    ASSERT_EQ(events.create(EventType::kMemory, true, 0, &memory_event_), 0);
  }

  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  QueueTable table{events, engine.hooks()};
  EventHandle memory_event_;
};

TEST_F(AqlTest, HandsTheWholePacketToTheEngine) {
  emu::Dispatch seen;
  engine.run = [&](const emu::Dispatch& dispatch) {
    seen = dispatch;
    return emu::DispatchResult{};
  };
  TestAqlQueue queue(gpu, table);
  amd::KernelDispatchPacket p{};
  p.header = TestAqlQueue::header(amd::PacketType::kKernelDispatch);
  p.setup = 2;
  p.workgroup_size[0] = 16;
  p.workgroup_size[1] = 8;
  p.workgroup_size[2] = 77;  // beyond the dimensions: ignored
  p.grid_size[0] = 100;
  p.grid_size[1] = 50;
  p.private_segment_size = 128;
  p.group_segment_size = 4096;
  p.kernel_object = 0x123400;
  p.kernarg_address = 0x5678;
  const GpuAddr signal = gpu.make_signal(1);
  p.completion_signal = signal.value;
  queue.submit(&p);
  ASSERT_TRUE(gpu.waits_for(signal, 0));
  EXPECT_EQ(seen.kernel_object.value, 0x123400u);
  EXPECT_EQ(seen.kernarg.value, 0x5678u);
  EXPECT_EQ(seen.packet, queue.ring);
  EXPECT_EQ(seen.queue, queue.amd_queue);
  EXPECT_EQ(seen.grid_size[0], 100u);
  EXPECT_EQ(seen.grid_size[1], 50u);
  EXPECT_EQ(seen.grid_size[2], 1u);
  EXPECT_EQ(seen.workgroup_size[1], 8);
  EXPECT_EQ(seen.workgroup_size[2], 1);
  EXPECT_EQ(seen.private_segment_bytes, 128u);
  EXPECT_EQ(seen.group_segment_bytes, 4096u);
  EXPECT_EQ(seen.memory, &gpu.gpu.space);
}

TEST_F(AqlTest, CompletionWritesTimesFreesTheSlotAndInterrupts) {
  EventHandle event;
  ASSERT_EQ(events.create(EventType::kSignal, true, 0, &event), 0);
  const GpuAddr mailbox = gpu.allocate(8);
  const GpuAddr signal = gpu.make_signal(5, event.id, mailbox);
  TestAqlQueue queue(gpu, table);
  const uint64_t before = to_ticks(now()).value;
  queue.submit_dispatch(0x100, signal);
  EventWait wait{.id = event.id};
  WaitResult result{};
  ASSERT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
  ASSERT_EQ(result, WaitResult::kComplete);
  const uint64_t after = to_ticks(now()).value;
  EXPECT_EQ(gpu.value_of(signal), 4);
  EXPECT_EQ(gpu.load<uint64_t>(mailbox), event.id);
  const auto begin = gpu.load<uint64_t>(signal + offsetof(amd::Signal, start_ts));
  const auto end = gpu.load<uint64_t>(signal + offsetof(amd::Signal, end_ts));
  EXPECT_LE(before, begin);
  EXPECT_LE(begin, end);
  EXPECT_LE(end, after);
  EXPECT_EQ(gpu.load<uint16_t>(queue.ring), 1) << "header INVALID";
  EXPECT_EQ(queue.read_index(), 1u);
}

TEST_F(AqlTest, EightProducersWrapAroundASmallRingWithoutLosingAPacket) {
  constexpr int kThreads = 8;
  constexpr int kPackets = 1000;
  std::vector<std::atomic<int>> runs(kThreads * kPackets);
  std::atomic<int> inside{0};
  engine.run = [&](const emu::Dispatch& dispatch) {
    EXPECT_EQ(inside.fetch_add(1), 0) << "one packet at a time";
    runs[dispatch.kernarg.value].fetch_add(1);
    inside.fetch_sub(1);
    return emu::DispatchResult{};
  };
  TestAqlQueue queue(gpu, table, 16);
  const GpuAddr signal = gpu.make_signal(kThreads * kPackets);
  std::vector<std::thread> producers;
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < kPackets; ++i) {
        queue.submit_dispatch(0x100, signal, {static_cast<uint64_t>(t * kPackets + i)});
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  ASSERT_TRUE(gpu.waits_for(signal, 0));
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  EXPECT_EQ(queue.read_index(), static_cast<uint64_t>(kThreads * kPackets));
}

TEST_F(AqlTest, APacketWhoseHeaderIsStillInvalidHoldsTheQueue) {
  TestAqlQueue queue(gpu, table);
  // Reserved but not written yet, as by a producer that was descheduled.
  uint64_t* written = gpu.at<uint64_t>(queue.amd_queue + amd::kQueueWriteDispatchId);
  __atomic_fetch_add(written, 1, __ATOMIC_RELEASE);
  const GpuAddr second = gpu.make_signal(1);
  queue.submit_dispatch(0x200, second);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(gpu.value_of(second), 1);
  amd::BarrierPacket p{};
  p.header = TestAqlQueue::header(amd::PacketType::kBarrierAnd);
  gpu.store<uint32_t>(queue.ring, p.header);
  EXPECT_TRUE(gpu.waits_for(second, 0));
}

TEST_F(AqlTest, BarrierAndWaitsForAllBarrierOrForAny) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr a = gpu.make_signal(1);
  const GpuAddr b = gpu.make_signal(1);
  const GpuAddr all = gpu.make_signal(1);
  const GpuAddr any = gpu.make_signal(1);
  queue.submit_barrier(amd::PacketType::kBarrierAnd, {a, b}, all);
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kWaiting; }));
  gpu.store<int64_t>(a + 8, 0);
  table.nudge();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(gpu.value_of(all), 1);
  gpu.store<int64_t>(b + 8, 0);
  EXPECT_TRUE(gpu.waits_for(all, 0));

  gpu.store<int64_t>(a + 8, 1);
  gpu.store<int64_t>(b + 8, -1);
  queue.submit_barrier(amd::PacketType::kBarrierOr, {a, b}, any);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(gpu.value_of(any), 1);
  gpu.store<int64_t>(b + 8, 0);
  EXPECT_TRUE(gpu.waits_for(any, 0));
  // Nothing to wait for passes.
  queue.submit_barrier(amd::PacketType::kBarrierOr, {}, all);
  EXPECT_TRUE(gpu.waits_for(all, -1));
}

TEST_F(AqlTest, BarrierChainsAcrossQueues) {
  constexpr int kQueues = 8;
  constexpr int kRounds = 50;
  std::mutex mutex;
  std::vector<uint64_t> order;
  engine.run = [&](const emu::Dispatch& dispatch) {
    const std::lock_guard lock(mutex);
    order.push_back(dispatch.kernarg.value);
    return emu::DispatchResult{};
  };
  std::vector<TestAqlQueue> queues;
  queues.reserve(kQueues);
  for (int i = 0; i < kQueues; ++i) queues.emplace_back(gpu, table, 256);
  // Each dispatch waits for the one before it, which is in another queue.
  GpuAddr last{};
  uint64_t number = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (TestAqlQueue& queue : queues) {
      if (last.value != 0) queue.submit_barrier(amd::PacketType::kBarrierAnd, {last}, {});
      last = gpu.make_signal(1);
      queue.submit_dispatch(0x100, last, {number++});
    }
  }
  ASSERT_TRUE(gpu.waits_for(last, 0));
  ASSERT_EQ(order.size(), static_cast<size_t>(kQueues * kRounds));
  for (uint64_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

TEST_F(AqlTest, BarrierValueComparesMaskedValues) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr watched = gpu.make_signal(0x105);
  const auto barrier = [&](uint32_t condition, int64_t value, int64_t mask) {
    const GpuAddr done = gpu.make_signal(1);
    amd::BarrierValuePacket p{};
    p.header = TestAqlQueue::header(amd::PacketType::kVendorSpecific);
    p.format = static_cast<uint8_t>(amd::VendorFormat::kBarrierValue);
    p.signal = watched.value;
    p.value = value;
    p.mask = mask;
    p.condition = condition;
    p.completion_signal = done.value;
    queue.submit(&p);
    return done;
  };
  EXPECT_TRUE(gpu.waits_for(barrier(0, 5, 0xff), 0));    // EQ
  EXPECT_TRUE(gpu.waits_for(barrier(1, 4, -1), 0));      // NE
  EXPECT_TRUE(gpu.waits_for(barrier(2, 0x106, -1), 0));  // LT
  EXPECT_TRUE(gpu.waits_for(barrier(3, 0x105, -1), 0));  // GTE
  const GpuAddr done = barrier(3, 0x200, -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(gpu.value_of(done), 1);
  gpu.store<int64_t>(watched + 8, 0x300);
  EXPECT_TRUE(gpu.waits_for(done, 0));
}

TEST_F(AqlTest, Pm4BufferInvalidatesCodeAndTouchesMemory) {
  TestAqlQueue queue(gpu, table);
  const GpuAddr data = gpu.allocate(256);
  std::memset(gpu.host(data), 0, 256);
  const std::vector<uint32_t> ib = {
      // ACQUIRE_MEM, gfx10 form with GLI_INV
      amd::pm4_header(amd::Pm4Op::kAcquireMem, 8), 0, 0xffffffff, 0xff, 0, 0, 0, 1,
      // WRITE_DATA of two dwords
      amd::pm4_header(amd::Pm4Op::kWriteData, 6), 2u << 8, low(data), high(data), 0x11, 0x22,
      // COPY_DATA 64-bit to data + 8
      amd::pm4_header(amd::Pm4Op::kCopyData, 6), 2u | 2u << 8 | 1u << 16, low(data), high(data),
      low(data + 8), high(data + 8),
      // ATOMIC_MEM swap 64 at data + 16, then its result to data + 24
      amd::pm4_header(amd::Pm4Op::kAtomicMem, 9), 39, low(data + 16), high(data + 16), 7, 0, 0, 0,
      0, amd::pm4_header(amd::Pm4Op::kCopyData, 6), 6u | 2u << 8 | 1u << 16, 0, 0, low(data + 24),
      high(data + 24),
      // WAIT_REG_MEM until data + 32 equals 1
      amd::pm4_header(amd::Pm4Op::kWaitRegMem, 7), 3u | 1u << 4, low(data + 32), high(data + 32), 1,
      0xffffffff, 4,
      // RELEASE_MEM: 64-bit data to data + 40
      amd::pm4_header(amd::Pm4Op::kReleaseMem, 8), 5u << 8, 2u << 29, low(data + 40),
      high(data + 40), 0x99, 0, 0,
      // DMA_DATA fill of 16 bytes at data + 64
      amd::pm4_header(amd::Pm4Op::kDmaData, 7), 2u << 29 | 3u << 20, 0xabababab, 0, low(data + 64),
      high(data + 64), 16, amd::pm4_header(amd::Pm4Op::kNop, 3), 0, 0};
  gpu.store<uint64_t>(data + 16, 42);
  const GpuAddr buffer = gpu.allocate(ib.size() * 4);
  std::memcpy(gpu.host(buffer), ib.data(), ib.size() * 4);
  amd::Pm4IbPacket p{};
  p.header = TestAqlQueue::header(amd::PacketType::kVendorSpecific);
  p.format = static_cast<uint8_t>(amd::VendorFormat::kPm4Ib);
  p.ib_jump[0] = amd::pm4_header(amd::Pm4Op::kIndirectBuffer, 4);
  p.ib_jump[1] = low(buffer);
  p.ib_jump[2] = high(buffer);
  p.ib_jump[3] = static_cast<uint32_t>(ib.size()) | 1u << 23;
  const GpuAddr signal = gpu.make_signal(1);
  p.completion_signal = signal.value;
  queue.submit(&p);
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kWaiting; }));
  EXPECT_EQ(engine.invalidations, 1);
  EXPECT_EQ(gpu.load<uint64_t>(data + 8), 0x2200000011u);
  EXPECT_EQ(gpu.load<uint64_t>(data + 16), 7u);
  EXPECT_EQ(gpu.load<uint64_t>(data + 24), 42u);
  EXPECT_EQ(gpu.load<uint64_t>(data + 40), 0u);
  gpu.store<uint32_t>(data + 32, 1);
  ASSERT_TRUE(gpu.waits_for(signal, 0));
  EXPECT_EQ(gpu.load<uint64_t>(data + 40), 0x99u);
  EXPECT_EQ(gpu.load<uint32_t>(data + 76), 0xababababu);
  EXPECT_EQ(gpu.load<uint32_t>(data + 80), 0u);
}

// Submits 64 bytes and returns the error code the queue reports.
int64_t error_for(TestGpu& gpu, QueueTable& table, const void* packet) {
  TestAqlQueue queue(gpu, table);
  queue.submit(packet);
  EXPECT_TRUE(eventually([&] { return queue.queue_error() != 0; }));
  EXPECT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kFaulted; }));
  EXPECT_EQ(table.destroy(queue.handle.id), 0);
  return queue.queue_error();
}

// The driver knows the header at the address the process uses, as KFD does.
TEST_F(AqlTest, ExceptionsGoWhereTheQueueSaysOnceTheRuntimeHasEnabledThem) {
  EventHandle event;
  ASSERT_EQ(events.create(EventType::kSignal, true, 0, &event), 0);
  std::atomic<uint64_t> payload{0};
  amd::KfdContextSaveHeader header{};
  header.error_payload = reinterpret_cast<uint64_t>(&payload);
  header.error_event = event.id;
  amd::KernelDispatchPacket bad{};
  bad.header = TestAqlQueue::header(amd::PacketType::kKernelDispatch);  // no dimensions

  table.report_exceptions(true);
  TestAqlQueue told(gpu, table, 64, reinterpret_cast<uint64_t>(&header));
  told.submit(&bad);
  EventWait wait{.id = event.id};
  WaitResult result{};
  ASSERT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
  ASSERT_EQ(result, WaitResult::kComplete);
  EXPECT_EQ(payload.load(), uint64_t{1} << 15) << "DISPATCH_DIM_INVALID is exception 16";
  EXPECT_EQ(told.queue_error(), 0);
  EXPECT_EQ(table.destroy(told.handle.id), 0);

  // A queue that names no event, and a runtime that has switched exceptions off again.
  EXPECT_EQ(error_for(gpu, table, &bad), 2);
  table.report_exceptions(false);
  TestAqlQueue untold(gpu, table, 64, reinterpret_cast<uint64_t>(&header));
  untold.submit(&bad);
  EXPECT_TRUE(eventually([&] { return untold.queue_error() == 2; }));
  EXPECT_EQ(payload.load(), uint64_t{1} << 15);
}

TEST_F(AqlTest, BadPacketsBecomeQueueErrors) {
  const auto dispatch_with = [&](auto change) {
    amd::KernelDispatchPacket p{};
    p.header = TestAqlQueue::header(amd::PacketType::kKernelDispatch);
    p.setup = 3;
    for (int i = 0; i < 3; ++i) p.workgroup_size[i] = 1;
    for (int i = 0; i < 3; ++i) p.grid_size[i] = 1;
    p.kernel_object = 0x100;
    change(p);
    return error_for(gpu, table, &p);
  };
  EXPECT_EQ(dispatch_with([](auto& p) { p.setup = 0; }), 2);
  EXPECT_EQ(dispatch_with([](auto& p) { p.grid_size[1] = 0; }), 2);
  EXPECT_EQ(dispatch_with([](auto& p) { p.workgroup_size[2] = 0; }), 2);
  EXPECT_EQ(dispatch_with([](auto& p) { p.group_segment_size = 1 << 20; }), 4);
  EXPECT_EQ(dispatch_with([](auto& p) { p.kernel_object = 0; }), 8);
  EXPECT_EQ(dispatch_with([](auto& p) { p.workgroup_size[0] = 1025; }), 64);
  EXPECT_EQ(dispatch_with([](auto& p) { p.header = 4; }), 32);
  EXPECT_EQ(dispatch_with([](auto& p) { p.header = 0x77; }), 32);
  amd::Pm4IbPacket vendor{};
  vendor.format = 0x55;
  EXPECT_EQ(error_for(gpu, table, &vendor), 256);
  vendor.format = 1;
  vendor.ib_jump[0] = amd::pm4_header(static_cast<amd::Pm4Op>(0x76), 3);  // SET_SH_REG
  EXPECT_EQ(error_for(gpu, table, &vendor), 256);
}

TEST_F(AqlTest, FaultsOfWavesBecomeTheirQueueErrors) {
  const auto error_of = [&](emu::FaultKind kind) {
    engine.run = [kind](const emu::Dispatch& dispatch) {
      emu::DispatchResult result;
      result.fault = emu::Fault{};
      result.fault->kind = kind;
      result.fault->kernel_object = dispatch.kernel_object;
      return result;
    };
    amd::KernelDispatchPacket p{};
    p.header = 2;
    p.setup = 1;
    p.workgroup_size[0] = 1;
    p.grid_size[0] = 1;
    p.kernel_object = TestGpu::kBase;
    return static_cast<uint64_t>(error_for(gpu, table, &p));
  };
  EXPECT_EQ(error_of(emu::FaultKind::kApertureViolation), 0x20000000u);
  EXPECT_EQ(error_of(emu::FaultKind::kIllegalInstruction), 0x40000000u);
  EXPECT_EQ(error_of(emu::FaultKind::kUnimplemented), 0x40000000u);
  EXPECT_EQ(error_of(emu::FaultKind::kTrap), 0x80000000u);
  EXPECT_EQ(error_of(emu::FaultKind::kBadDescriptor), 8u);
}

TEST_F(AqlTest, APageFaultOfAWaveReachesTheMemoryEvent) {
  engine.run = [](const emu::Dispatch&) {
    emu::DispatchResult result;
    result.fault = emu::Fault{};
    result.fault->kind = emu::FaultKind::kWriteToReadOnly;
    result.fault->address = {0xdeadb123};
    return result;
  };
  TestAqlQueue queue(gpu, table);
  const GpuAddr signal = gpu.make_signal(1);
  queue.submit_dispatch(TestGpu::kBase, signal);
  const MemoryFaultData fault = wait_for_memory_fault();
  EXPECT_EQ(fault.address, 0xdeadb000u);
  EXPECT_TRUE(fault.read_only);
  EXPECT_FALSE(fault.not_present);
  EXPECT_EQ(fault.gpu_id, 0x1234u);
  EXPECT_EQ(gpu.value_of(signal), 1);
  EXPECT_EQ(table.destroy(queue.handle.id), 0);
}

TEST_F(AqlTest, UnmappedSignalsAreMemoryFaults) {
  {
    TestAqlQueue queue(gpu, table);
    queue.submit_dispatch(0x100, GpuAddr{0x99990000});
    EXPECT_EQ(wait_for_memory_fault().address, 0x99990000u);
    ASSERT_EQ(table.destroy(queue.handle.id), 0);
  }
  TestAqlQueue queue(gpu, table);
  queue.submit_barrier(amd::PacketType::kBarrierAnd, {{0x88880000}}, {});
  EXPECT_EQ(wait_for_memory_fault().address, 0x88880000u);
}

TEST_F(AqlTest, ARingThatVanishesIsAMemoryFaultNotACrash) {
  // Its own host memory behind its own GPU range, so that it can go away.
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr uint64_t kRing = 0x2000'0000'0000;  // where no sanitizer keeps its heap
  gpu.gpu.space.map(kRing, 4096, static_cast<std::byte*>(memory), true, false);
  TestAqlQueue layout(gpu, table);
  QueueParams params;
  params.ring = {kRing};
  params.ring_bytes = 4096;
  const GpuAddr amd_queue = gpu.allocate(0x100);
  params.read_pointer = amd_queue + amd::kQueueReadDispatchId;
  params.write_pointer = amd_queue + amd::kQueueWriteDispatchId;
  QueueHandle handle;
  ASSERT_EQ(table.create(params, gpu.gpu, &handle), 0);
  // Gone from the host, still in the page table: only the guard notices.
  munmap(memory, 4096);
  gpu.store<uint64_t>(params.write_pointer, 1);
  EXPECT_EQ(wait_for_memory_fault().address, kRing);
  EXPECT_EQ(table.destroy(handle.id), 0);
  gpu.gpu.space.unmap(kRing, 4096);
}

TEST_F(AqlTest, InterruptsOfWavesWakeEverySignalEvent) {
  EventHandle event;
  ASSERT_EQ(events.create(EventType::kSignal, true, 0, &event), 0);
  engine.run = [](const emu::Dispatch& dispatch) {
    dispatch.host->interrupt();
    EXPECT_NE(dispatch.host->clock_ticks(), 0u);
    return emu::DispatchResult{};
  };
  TestAqlQueue queue(gpu, table);
  queue.submit_dispatch(0x100, {});
  EventWait wait{.id = event.id};
  WaitResult result{};
  ASSERT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
  EXPECT_EQ(result, WaitResult::kComplete);
}

}  // namespace
}  // namespace wavetap::vgpu
