// Roofline: how fast a kernel is, against how fast the GPU could do what it does, by number format and
// by level of memory.
#pragma once

#include <string>
#include <vector>

#include "model/peaks.h"
#include "profile/work_of.h"

namespace wavetap::profile {

// A kernel's traffic with one level of memory.
struct LevelTraffic {
  model::Level level{};
  double bytes = 0;
  double intensity = 0;  // operations per byte; 0: no bytes or no operations
  double achieved = 0;   // bytes per second
  double ceiling = 0;    // bytes per second; 0: not known
};

// A kernel's operations of one kind.
struct RatePoint {
  model::Rate rate;
  double operations = 0;
  double achieved = 0;  // per second
  double ceiling = 0;   // per second; 0: not known
};

struct Roofline {
  double operations = 0;  // floating-point ones, or integer matrix ones where there are no others
  double achieved = 0;    // per second
  double attainable = 0;  // the lowest of the ceilings above it
  model::Level bound_level{};  // that one's, when it is a memory's
  bool is_memory_bound = false;
  std::vector<LevelTraffic> levels;  // from the nearest to the farthest
  std::vector<RatePoint> rates;      // the kinds it uses
};

Roofline roofline_of(const model::Peaks& peaks, const Work& work, double seconds);

}  // namespace wavetap::profile
