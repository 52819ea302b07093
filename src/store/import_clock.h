// The rate of a recording's clock where the recording does not tell it (clock_map.h).
#pragma once

#include <string>

#include "store/import_events.h"
#include "store/raw_facts.h"

namespace wavetap::store {

// By the counter of this machine when it has not been booted since, else by the GPU's times.
void find_clock_rate(RawFacts& facts, const ProcessEvents& events);

// What to say of times that are not certain: `reason` as in wavetap_loss, null when they are.
inline constexpr char kClockEstimated[] = "clock estimated";
inline constexpr char kClockUnknown[] = "clock unknown";
struct ClockDoubt {
  const char* reason = nullptr;
  std::string what;
};
ClockDoubt clock_doubt(const ClockMap& clock);

}  // namespace wavetap::store
