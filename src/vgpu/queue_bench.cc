// What the queues cost: latency from doorbell to completion, packets per second, and processor time
// when nothing happens. Figures of one 2-core Neoverse-V1 machine are in the comments; run it to
// get yours.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <time.h>

#include <memory>
#include <thread>
#include <vector>

#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

struct Bench {
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  QueueTable table{events, engine.hooks()};
};

double process_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// One empty dispatch at a time, the host spinning on the signal: the round trip of a busy queue.
void dispatch_round_trip(benchmark::State& state) {
  Bench bench;
  TestAqlQueue queue(bench.gpu, bench.table);
  const GpuAddr signal = bench.gpu.make_signal(0);
  for (auto _ : state) {
    bench.gpu.store<int64_t>(signal + 8, 1);
    queue.submit_dispatch(0x100, signal);
    while (bench.gpu.value_of(signal) != 0) sched_yield();
  }
}
BENCHMARK(dispatch_round_trip)->UseRealTime();

// The same after the queue has been idle for some milliseconds and its thread is parked; the host
// nudges, as WAIT_EVENTS does, or leaves it to the poller.
void dispatch_after_pause(benchmark::State& state) {
  Bench bench;
  TestAqlQueue queue(bench.gpu, bench.table);
  const GpuAddr signal = bench.gpu.make_signal(0);
  const bool nudged = state.range(1) != 0;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::microseconds(state.range(0)));
    bench.gpu.store<int64_t>(signal + 8, 1);
    const auto begin = std::chrono::steady_clock::now();
    queue.submit_dispatch(0x100, signal);
    if (nudged) bench.table.nudge();
    while (bench.gpu.value_of(signal) != 0) sched_yield();
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
}
BENCHMARK(dispatch_after_pause)
    ->ArgNames({"pause_us", "nudged"})
    ->ArgsProduct({{200, 2000, 20000}, {0, 1}})
    ->UseManualTime()
    ->Iterations(100);

// A full ring of barrier packets: the cost of a packet without a kernel.
void packets_back_to_back(benchmark::State& state) {
  Bench bench;
  TestAqlQueue queue(bench.gpu, bench.table, 1024);
  const GpuAddr signal = bench.gpu.make_signal(0);
  constexpr int kBatch = 1000;
  for (auto _ : state) {
    bench.gpu.store<int64_t>(signal + 8, kBatch);
    for (int i = 0; i < kBatch; ++i) queue.submit_barrier(amd::PacketType::kBarrierAnd, {}, signal);
    while (bench.gpu.value_of(signal) != 0) sched_yield();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(packets_back_to_back)->UseRealTime();

void sdma_copy(benchmark::State& state) {
  Bench bench;
  TestSdmaQueue queue(bench.gpu, bench.table);
  const auto size = static_cast<uint32_t>(state.range(0));
  const GpuAddr from = bench.gpu.allocate(size);
  const GpuAddr to = bench.gpu.allocate(size);
  for (auto _ : state) {
    queue.submit({1, size - 1, 0, low(from), high(from), low(to), high(to)});
    while (queue.read_position() != queue.written()) sched_yield();
  }
  state.SetBytesProcessed(state.iterations() * size);
}
BENCHMARK(sdma_copy)->Arg(64)->Arg(64 << 10)->Arg(16 << 20)->UseRealTime();

// Share of one core that idle queues use, in percent, over a second that begins after the poller
// has slowed down. The counter is the result; the time is just the second.
void idle_queues(benchmark::State& state) {
  Bench bench;
  std::vector<std::unique_ptr<TestAqlQueue>> queues;
  for (int i = 0; i < state.range(0); ++i) {
    queues.push_back(std::make_unique<TestAqlQueue>(bench.gpu, bench.table, 8));
    const GpuAddr signal = bench.gpu.make_signal(1);
    queues.back()->submit_dispatch(0x100, signal);
    if (!bench.gpu.waits_for(signal, 0)) state.SkipWithError("a queue does not work");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(state.range(1)));
  double used = 0;
  for (auto _ : state) {
    const double begin = process_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    used += process_seconds() - begin;
  }
  state.counters["percent_of_a_core"] = 100 * used / static_cast<double>(state.iterations());
}
BENCHMARK(idle_queues)
    ->ArgNames({"queues", "after_ms"})
    ->Args({1, 100})
    ->Args({128, 100})
    ->Args({128, 2500})
    ->UseRealTime()
    ->Iterations(2);

}  // namespace
}  // namespace wavetap::vgpu
