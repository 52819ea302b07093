// What a corrected figure would break: programs compute with the figures they are told.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/machine.h"

namespace wavetap::doctor {

// The figures of a GPU as HIP counts them.
struct TrueFigures {
  uint32_t multiprocessors = 0;  // 0 and "" where they are not known
  bool counts_wgps = false;      // from gfx10 on, unless GPU_ENABLE_WGP_MODE=0
  uint32_t clock_mhz = 0;
  uint32_t wave_size = 0;
  uint32_t lds_bytes = 0;
  std::string arch;
};

// As published. `wgp_mode` is the value of GPU_ENABLE_WGP_MODE, null when it is not set.
TrueFigures true_figures(const model::Model& device, const std::string* wgp_mode);
// As the driver gives them.
TrueFigures true_figures(const Gpu& gpu, const std::string* wgp_mode);

// Why telling a program this figure breaks its occupancy or cooperative-launch arithmetic; "" when
// it does not. Fields are named as in correct/corrections.h, with '-' or '_'.
std::string correction_risk(const TrueFigures& truth, const std::string& field,
                            const std::string& value);

}  // namespace wavetap::doctor
