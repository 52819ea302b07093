// What the GPUs' clocks were while a program was measured: two runs of the same program differ where a clock does.
#pragma once

#include <string>
#include <vector>

namespace wavetap::tune {

struct GpuClock {
  std::string card;   // "card0"
  std::string level;  // of amdgpu: "auto", "high", "manual", …
  std::string clock;  // "2310Mhz"
};

// Of all cards whose driver says it.
std::vector<GpuClock> read_gpu_clocks(const std::string& folder = "/sys/class/drm");

// A sentence for the report.
std::string clock_note(const std::vector<GpuClock>& before, const std::vector<GpuClock>& after);

}  // namespace wavetap::tune
