#pragma once

#include <time.h>

#include <cstdint>

namespace wavetap {

// Nanoseconds of CLOCK_BOOTTIME, the clock ROCr calls the system clock.
struct HostNs {
  int64_t value = 0;
};

inline HostNs now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return {t.tv_sec * 1'000'000'000LL + t.tv_nsec};
}

// Ticks of a GPU's constant-rate counter: 100 MHz on every model. Not nanoseconds until converted.
struct GpuTicks {
  uint64_t value = 0;
};

inline constexpr uint64_t kGpuTickHz = 100'000'000;

inline GpuTicks to_ticks(HostNs t) { return {static_cast<uint64_t>(t.value) / 10}; }

}  // namespace wavetap
