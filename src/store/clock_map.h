// From the units of a recording to nanoseconds.
//
// A recording counts in ticks of the CPU's counter and holds samples: the same instant on the
// counter and on the system's clocks. Between samples a time lies on the straight line that joins
// them; outside, the counter's rate leads on. The recorder states that rate and takes its first two
// samples before the first event. Recordings of x86 made before it did so may have a single sample
// and no rate; theirs is found by other means or, if there are none, is known to be a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/clock_rate.h"
#include "format/record.h"

namespace wavetap::store {

class ClockMap {
 public:
  enum class Rate : uint8_t {
    kKnown,      // stated or measured
    kEstimated,  // inferred from GPU work, which carries the system's time
    kGuessed,    // nothing tells; a usual rate stands in
  };

  void add(const format::ClockSampleFact& sample);
  // After the samples, and again when there are more; `stated_hz` 0: not known.
  void set_frequency(format::Clock clock, uint64_t stated_hz);

  // Other ways to the rate, for a recording that does not tell; call them after set_frequency(). They
  // change nothing when the rate is known.
  //
  // A sample that somebody else took since the same boot, perhaps now.
  void learn_from_sample(const format::ClockSampleFact& other);
  // What happened at `ticks` was over at this time of CLOCK_BOOTTIME: a kernel begins after it was
  // submitted.
  struct Order {
    uint64_t ticks = 0;
    int64_t boottime_ns = 0;
  };
  void learn_from_order(const std::vector<Order>& orders);

  Rate rate() const { return rate_; }
  double hz() const { return 1e9 / ns_per_tick_; }

  bool known() const { return !samples_.empty(); }
  // CLOCK_MONOTONIC of the last sample: a sign of life of the process. 0: there is none.
  int64_t last_sample() const { return samples_.empty() ? 0 : samples_.back().fact.monotonic_ns; }
  // CLOCK_MONOTONIC.
  int64_t monotonic(uint64_t ticks) const;
  // From CLOCK_BOOTTIME, which GPU times are in.
  int64_t monotonic_of_boottime(int64_t boottime_ns) const;
  // CLOCK_REALTIME - CLOCK_MONOTONIC at the first sample.
  int64_t epoch_offset() const;

 private:
  struct Sample {
    uint64_t counter = 0;  // the middle of the bracket
    format::ClockSampleFact fact{};
  };
  void set_hz(double hz, Rate rate);

  double ns_per_tick_ = 1;
  Rate rate_ = Rate::kKnown;
  std::vector<Sample> samples_;  // by counter
  mutable size_t last_ = 0;      // where the last question was answered
};

}  // namespace wavetap::store
