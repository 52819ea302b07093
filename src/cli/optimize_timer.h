// Times for wavetap optimize: both kernels in turns through AMD's runtime, by wavetap replay --against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/timing.h"

namespace wavetap::cli {

struct TimerOptions {
  std::string where;  // "hsa": a GPU of this machine; "virtual": the virtual one
  std::string gpu;    // model, for the virtual one
  std::string file;   // of captures
  std::vector<uint32_t> captures;
  uint32_t pairs = 20;
  bool is_verified = true;  // what it leaves is compared bit by bit there, too
  double seconds = 120;     // of each capture
};

// An error where this machine has nothing to time it on.
Status check_timed(const std::string& where);
optimize::Timer make_timer(const TimerOptions& options);

}  // namespace wavetap::cli
