// The clock that ROCr's waiting loops ask (vgpu/host_wait.h). Everybody else's questions are libc's.
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "vgpu/host_wait.h"
#include "vgpu/preload/front.h"

namespace wavetap::vgpu::front {
namespace {

struct CodeRange {
  uintptr_t begin = 0, end = 0;
};

// Written once, by the thread that moves g_learning from kNot to kBusy.
enum class Learning : uint8_t { kNot, kBusy, kDone };
constinit std::atomic<Learning> g_learning{Learning::kNot};
constinit CodeRange g_runtime;

int look_for_runtime(dl_phdr_info* info, size_t, void* found) {
  const char* const slash = info->dlpi_name == nullptr ? nullptr : ::strrchr(info->dlpi_name, '/');
  constexpr char kName[] = "libhsa-runtime64.so";
  if (slash == nullptr || ::strncmp(slash + 1, kName, sizeof kName - 1) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    *static_cast<CodeRange*>(found) = {begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

bool is_runtime_code(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  // Pairs with the store in learn_runtime_code().
  return g_learning.load(std::memory_order_acquire) == Learning::kDone && at >= g_runtime.begin &&
         at < g_runtime.end;
}

using Clock = int (*)(clockid_t, timespec*) noexcept;

int ask_kernel(clockid_t clock, timespec* time) noexcept {
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

// The kernel answers until libc's function is known. That is looked for once, and not when somebody asks: there are
// allocators that ask for the time when something is freed, as dlsym() does with the text of an error before.
constinit std::atomic<Clock> g_next{&ask_kernel};

[[gnu::constructor]] void find_next_clock() {
  const auto found = reinterpret_cast<Clock>(next_symbol("clock_gettime"));
  if (found != nullptr) g_next.store(found, std::memory_order_relaxed);
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void learn_runtime_code() {
  Learning before = Learning::kNot;
  if (!g_learning.compare_exchange_strong(before, Learning::kBusy, std::memory_order_relaxed))
    return;
  ::dl_iterate_phdr(look_for_runtime, &g_runtime);
  g_learning.store(Learning::kDone, std::memory_order_release);
}

// What clock_gettime() answers to `caller`.
int answer_clock(clockid_t clock, timespec* time, const void* caller) {
  const Clock next = g_next.load(std::memory_order_relaxed);
  const int status = next(clock, time);
  if (clock != CLOCK_MONOTONIC_RAW || status != 0 || !is_runtime_code(caller)) return status;
  static constinit thread_local ClockLoop loop;
  const uint32_t seen = completions();
  const ClockLoop::Turn turn = loop.turn(nanoseconds(*time), seen);
  if (turn == ClockLoop::Turn::kGoOn) return status;
  Driver* const device = running_driver();
  if (device == nullptr) return status;  // a child of fork(), without a GPU yet
  // What it waits for may lie in a queue that nobody has looked at.
  if (turn == ClockLoop::Turn::kFirstRest) device->queues().nudge();
  rest_until_completion(seen);
  const int status_after = next(clock, time);
  loop.rested(nanoseconds(*time));
  return status_after;
}

}  // namespace wavetap::vgpu::front

WT_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return wavetap::vgpu::front::answer_clock(clock, time, __builtin_return_address(0));
}
