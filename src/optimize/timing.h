// Timing: whether a candidate is faster, by runs on a GPU that take turns with what was best before.
//
// Times scatter, so a candidate counts as faster only where the whole 95 % interval of the ratio says so
// (proof/difference.h); "no difference" is an answer, and not a good one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "util/json_library.h"

namespace wavetap::optimize {

// Of one captured dispatch, in pairs.
struct TimedRuns {
  uint32_t capture = 1;
  std::vector<double> before, after;  // seconds
};

// Where and by which clock.
struct TimedPlace {
  std::string gpu;    // as ROCm names it
  std::string clock;  // "gpu", or "emulation": a virtual GPU's runs take what their emulation takes
  std::string note;   // of the state of the GPU's clock, where it is known
};

struct Timed {
  TimedPlace place;
  std::vector<TimedRuns> runs;  // a row for each capture
};

// Runs the kernels of two code objects on every capture.
using Timer = std::function<Result<Timed>(const std::string& before, const std::string& after)>;

struct TimingVerdict {
  bool is_faster = false;
  double improvement = 1;  // 1 where there is no difference
  std::string reason;      // of what is not faster
  nlohmann::ordered_json json;
};

// Faster over all captures by `least_gain` (0 to 1) and beyond the interval, and slower on none of them.
TimingVerdict judge_times(const Timed& timed, double least_gain);

}  // namespace wavetap::optimize
