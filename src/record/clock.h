// The session's clock: the CPU's constant-rate counter where there is one, else CLOCK_BOOTTIME.
//
// A counter's times are worth nothing without its rate, and a program may be killed at any moment. So
// the rate is settled before the first record, from what the CPU states and from two samples some
// microseconds apart, and the helper thread takes further samples at intervals that double
// (helper.cc): whenever the program ends, the last samples reach back as far as the time since.
#pragma once

#include <cstdint>

#include "base/cpu_counter.h"
#include "format/record.h"

namespace wavetap::record {

// What ticks() counts in. Settled by choose_clock(), once, before the first record.
void choose_clock();
format::Clock clock_kind();

// One instant on every clock.
format::ClockSampleFact sample_clocks();

// Ticks in a second; 0 before settle_clock_rate().
uint64_t clock_hz();
// From a sample that was taken some time ago and one that is taken now and returned; waits until they
// are far enough apart to tell.
format::ClockSampleFact settle_clock_rate(const format::ClockSampleFact& earlier);

double seconds_since(uint64_t time);  // a ticks() of this process

#if defined(__aarch64__)

inline uint64_t ticks() { return read_counter(); }

#else

extern bool g_counter_is_constant __attribute__((visibility("hidden")));
uint64_t ticks_by_system_call();

inline uint64_t ticks() {
  if (g_counter_is_constant) [[likely]]
    return read_counter();
  return ticks_by_system_call();
}

#endif

}  // namespace wavetap::record
