// The optimisation score of a profile and the gate against regressions, from the documents of `wavetap
// profile` (docs/optimize.md has the formulas).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "util/json_library.h"

namespace wavetap::optimize {

// What a kernel could gain, and what that is worth to the program.
struct Score {
  std::string kernel;
  double headroom = 0;  // of its time, 0 to 1: what its first limit costs
  double critical_fraction =
      1;  // its part of the program's critical path; of its time where not known
  double estimated_speedup = 1;  // of the kernel: 1 / (1 - headroom)
  double priority = 0;           // headroom * critical_fraction
  bool is_worthwhile = false;    // all thresholds are reached
};

// Below these, an optimisation is not worth its time.
inline constexpr double kLeastHeadroom = 0.10, kLeastCritical = 0.20, kLeastPriority = 0.05,
                        kLeastSpeedup = 1.02;

Result<Score> score_of(const nlohmann::ordered_json& profile);

// How much worse a figure may get.
struct GateLimits {
  double runtime = 0.05, vgprs = 0.20, occupancy = 0.15, lds = 0.30, memory = 0.10;
};
struct Regression {
  std::string kernel, figure;
  double before = 0, after = 0, limit = 0;
};
// Of every kernel that both have, by the gates of `wavetap profile diff`. More traffic is excused where
// the kernel got faster by 2 % all the same.
Result<std::vector<Regression>> find_regressions(const nlohmann::ordered_json& before,
                                                 const nlohmann::ordered_json& after,
                                                 const GateLimits& limits);

}  // namespace wavetap::optimize
