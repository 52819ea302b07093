// Profiling: time stamps of dispatches, barriers and copies are monotone and lie inside the host's
// interval, in the system's clock after ROCr's translation.
#include "hsa_test.h"

using namespace hsa_test;

namespace {

uint64_t system_time() {
  uint64_t time = 0;
  HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
  return time;
}

// ROCr fits a line through two clock samples; a few microseconds at the edges are its own.
constexpr uint64_t kSlack = 200'000;

bool within(uint64_t before, uint64_t begin, uint64_t end, uint64_t after) {
  return begin <= end && begin + kSlack >= before && end <= after + kSlack;
}

void dispatches(const Machine& machine, const Agent& gpu, const Kernels& kernels) {
  constexpr int kCount = 50;
  hsa_queue_t* queue = make_queue(gpu);
  HSA(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  auto* out = machine.allocate_host<uint32_t>(4096);
  struct {
    uint32_t* out;
    uint32_t value, count;
  } args{out, 1, 4096};
  void* kernarg = make_kernarg(machine, args);
  uint64_t last_end = 0;
  int ordered = 0;
  int inside = 0;
  for (int i = 0; i < kCount; ++i) {
    const hsa_signal_t signal = make_signal(1);
    const auto packet = kernels.packet("fill", 4096, kernarg, signal);
    const uint64_t before = system_time();
    submit(queue, &packet);
    if (!wait_until(signal, 0)) break;
    const uint64_t after = system_time();
    hsa_amd_profiling_dispatch_time_t time{};
    HSA(hsa_amd_profiling_get_dispatch_time(gpu.agent, signal, &time));
    inside += within(before, time.start, time.end, after);
    ordered += time.start + kSlack >= last_end;
    last_end = time.end;
    HSA(hsa_signal_destroy(signal));
  }
  check(inside == kCount, "%s: dispatches lie inside the host's interval (%d of %d)",
        gpu.name.c_str(), inside, kCount);
  check(ordered == kCount, "%s: dispatches follow one another (%d of %d)", gpu.name.c_str(),
        ordered, kCount);
  HSA(hsa_queue_destroy(queue));
}

void copies(const Machine& machine, const Agent& gpu) {
  constexpr size_t kBytes = 1 << 20;
  HSA(hsa_amd_profiling_async_copy_enable(true));
  auto* host = machine.allocate_host<char>(kBytes);
  auto* vram = allocate_vram<char>(gpu, kBytes);
  int inside = 0;
  constexpr int kCount = 20;
  for (int i = 0; i < kCount; ++i) {
    const hsa_signal_t signal = make_signal(1);
    const uint64_t before = system_time();
    HSA(hsa_amd_memory_async_copy(vram, gpu.agent, host, machine.cpu.agent, kBytes, 0, nullptr,
                                  signal));
    if (!wait_until(signal, 0)) break;
    const uint64_t after = system_time();
    hsa_amd_profiling_async_copy_time_t time{};
    HSA(hsa_amd_profiling_get_async_copy_time(signal, &time));
    inside += within(before, time.start, time.end, after) && time.end > time.start;
    HSA(hsa_signal_destroy(signal));
  }
  check(inside == kCount, "%s: copies lie inside the host's interval (%d of %d)", gpu.name.c_str(),
        inside, kCount);
}

void clocks(const Agent& gpu) {
  uint64_t last = 0;
  bool monotone = true;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t time = system_time();
    monotone = monotone && time >= last;
    last = time;
  }
  check(monotone, "the system clock does not go back");
  uint64_t hertz = 0;
  HSA(hsa_agent_get_info(
      gpu.agent, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY), &hertz));
  check(static_cast<uint32_t>(hertz) > 100, "%s: clock of %u MHz", gpu.name.c_str(),
        static_cast<uint32_t>(hertz));
}

}  // namespace

int main() {
  const Machine machine = start();
  for (const Agent& gpu : machine.gpus) {
    const Kernels kernels(gpu);
    clocks(gpu);
    dispatches(machine, gpu, kernels);
    copies(machine, gpu);
  }
  HSA(hsa_shut_down());
  return finish();
}
