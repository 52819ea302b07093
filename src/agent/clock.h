// The session's clock: the CPU's constant-rate counter where there is one, else CLOCK_BOOTTIME.
#pragma once

#include <time.h>

#include <cstdint>

#include "format/record.h"

namespace wavetap::agent {

// What ticks() counts in. Settled by choose_clock(), once, before the first record.
void choose_clock();
format::Clock clock_kind();
uint64_t clock_hz();  // 0: not told by the CPU, only the samples say

// From the first and the latest sample; 0 before there are two.
uint64_t measured_hz();
double seconds_since(uint64_t time);  // a ticks() of this process

format::ClockSampleFact sample_clocks();

#if defined(__aarch64__)

inline uint64_t ticks() {
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#else

extern bool g_counter_is_constant;
uint64_t ticks_by_system_call();

inline uint64_t ticks() {
#if defined(__x86_64__)
  if (g_counter_is_constant) [[likely]]
    return __builtin_ia32_rdtsc();
#endif
  return ticks_by_system_call();
}

#endif

}  // namespace wavetap::agent
