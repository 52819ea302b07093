#include "agent/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdint>

namespace wavetap::agent {
namespace {

int64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

std::atomic<uint64_t> g_first_counter{0};
std::atomic<int64_t> g_first_ns{0};
std::atomic<uint64_t> g_measured_hz{0};

void remember(const format::ClockSampleFact& sample) {
  const uint64_t first = g_first_counter.load(std::memory_order_relaxed);
  if (first == 0) {
    g_first_ns.store(sample.boottime_ns, std::memory_order_relaxed);
    g_first_counter.store(sample.counter, std::memory_order_relaxed);
    return;
  }
  const int64_t elapsed = sample.boottime_ns - g_first_ns.load(std::memory_order_relaxed);
  if (elapsed > 1'000'000)
    g_measured_hz.store(static_cast<uint64_t>(static_cast<double>(sample.counter - first) * 1e9 /
                                              static_cast<double>(elapsed)),
                        std::memory_order_relaxed);
}

}  // namespace

uint64_t measured_hz() { return g_measured_hz.load(std::memory_order_relaxed); }

double seconds_since(uint64_t time) {
  const uint64_t now = ticks();
  const uint64_t hz = clock_hz() != 0 ? clock_hz() : measured_hz();
  return now <= time || hz == 0 ? 0 : static_cast<double>(now - time) / static_cast<double>(hz);
}

#if defined(__aarch64__)

void choose_clock() {}
format::Clock clock_kind() { return format::Clock::kCounter; }

uint64_t clock_hz() {
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
}

#else

bool g_counter_is_constant = false;

void choose_clock() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // "Invariant TSC": constant rate in all power states.
  if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0)
    g_counter_is_constant = (edx & (1u << 8)) != 0;
#endif
}

format::Clock clock_kind() {
  return g_counter_is_constant ? format::Clock::kCounter : format::Clock::kBoottimeNs;
}
uint64_t clock_hz() { return g_counter_is_constant ? 0 : 1'000'000'000; }
uint64_t ticks_by_system_call() { return static_cast<uint64_t>(read_clock(CLOCK_BOOTTIME)); }

#endif

// The readings take tens of nanoseconds; an interrupt in between would spoil them, so the tightest
// of a few attempts is kept.
format::ClockSampleFact sample_clocks() {
  format::ClockSampleFact best{};
  for (int attempt = 0; attempt < 5; ++attempt) {
    format::ClockSampleFact sample{};
    sample.counter = ticks();
    sample.boottime_ns = read_clock(CLOCK_BOOTTIME);
    sample.monotonic_ns = read_clock(CLOCK_MONOTONIC);
    sample.realtime_ns = read_clock(CLOCK_REALTIME);
    sample.counter_after = ticks();
    if (attempt == 0 || sample.counter_after - sample.counter < best.counter_after - best.counter)
      best = sample;
  }
  remember(best);
  return best;
}

}  // namespace wavetap::agent
