// How fast the counter of a recording runs: what its samples show, and what to believe when the CPU
// states a rate as well. The recorder asks at the start of a session, readers ask again with every
// sample there is.
#pragma once

#include <cstdint>

#include "format/record.h"

namespace wavetap::format {

struct MeasuredRate {
  double hz = 0;     // 0: nothing is known
  double error = 1;  // at most so much of it
};

// Between two samples, `a` the earlier. Each may be off by half the distance of its bracket; so the
// error follows from the samples alone, whatever a tick may be.
inline MeasuredRate measure_rate(const ClockSampleFact& a, const ClockSampleFact& b) {
  const auto middle = [](const ClockSampleFact& s) {
    return s.counter_after > s.counter ? s.counter + (s.counter_after - s.counter) / 2 : s.counter;
  };
  const auto width = [](const ClockSampleFact& s) {
    return s.counter_after > s.counter ? static_cast<double>(s.counter_after - s.counter) : 1.0;
  };
  if (middle(b) <= middle(a) || b.monotonic_ns <= a.monotonic_ns) return {};
  const auto ticks = static_cast<double>(middle(b) - middle(a));
  const auto ns = static_cast<double>(b.monotonic_ns - a.monotonic_ns);
  const double error = (width(a) + width(b)) / 2 / ticks;
  return {ticks * 1e9 / ns, error < 1 ? error : 1};
}

// A stated rate is exact to some millionths, a measured one to `measured.error`: the better one is
// taken. Where they cannot both be right, the samples are: firmware has stated wrong rates.
inline MeasuredRate believed_rate(uint64_t stated_hz, const MeasuredRate& measured) {
  constexpr double kStatedError = 50e-6;
  if (stated_hz == 0) return measured;
  const auto stated = static_cast<double>(stated_hz);
  if (measured.hz == 0) return {stated, kStatedError};
  const double apart = stated > measured.hz ? stated / measured.hz - 1 : 1 - stated / measured.hz;
  const bool contradicts = apart > 2 * (measured.error + kStatedError);
  return contradicts || measured.error < kStatedError ? measured
                                                      : MeasuredRate{stated, kStatedError};
}

}  // namespace wavetap::format
