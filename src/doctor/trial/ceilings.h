// Ceilings: what the GPU reaches at most, measured by kernels that keep one resource busy each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::doctor::trial {

struct Measured {
  std::string key;        // as in model files: "vector.f32", "l2"
  double per_second = 0;  // operations or bytes
  double seconds = 0;     // that the best run took
  double work = 0;        // operations or bytes of it
};

// An error message, or "" and the figures. A resource that the GPU does not have is left out.
std::string measure_ceilings(std::vector<Measured>& figures);

}  // namespace wavetap::doctor::trial
