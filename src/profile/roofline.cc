#include "profile/roofline.h"

#include <algorithm>

namespace wavetap::profile {
namespace {

using model::Level;
using model::Pipe;
using model::Precision;
using model::Rate;

double ceiling_of(const model::Ceiling* ceiling) {
  return ceiling == nullptr ? 0 : ceiling->known_best().per_second;
}

// Vector arithmetic of f16 runs packed where the GPU can.
const model::Ceiling* vector_ceiling(const model::Peaks& peaks, Precision precision) {
  if (const model::Ceiling* plain = peaks.find(Rate{Pipe::kVector, precision})) return plain;
  return peaks.find(Rate{Pipe::kPacked, precision});
}

}  // namespace

Roofline roofline_of(const model::Peaks& peaks, const Work& work, double seconds) {
  Roofline roof;
  const auto add_rate = [&](Rate rate, double operations, const model::Ceiling* ceiling) {
    if (operations == 0) return;
    roof.rates.push_back(
        {rate, operations, seconds > 0 ? operations / seconds : 0, ceiling_of(ceiling)});
  };
  constexpr Precision kVector[] = {Precision::kF16, Precision::kF32, Precision::kF64};
  for (size_t i = 0; i < 3; ++i)
    add_rate({Pipe::kVector, kVector[i]}, work.operations.vector[i],
             vector_ceiling(peaks, kVector[i]));
  for (size_t i = 0; i < work.operations.matrix.size(); ++i) {
    const Rate rate{Pipe::kMatrix, static_cast<Precision>(i)};
    add_rate(rate, work.operations.matrix[i], peaks.find(rate));
  }
  roof.operations = work.operations.flops();
  if (roof.operations == 0)
    roof.operations = work.operations.matrix[static_cast<size_t>(Precision::kI8)];
  roof.achieved = seconds > 0 ? roof.operations / seconds : 0;

  // The time that the arithmetic needs at its peaks gives the mixed ceiling.
  double needed = 0;
  for (const RatePoint& point : roof.rates)
    if (point.ceiling > 0) needed += point.operations / point.ceiling;
  roof.attainable = needed > 0 ? roof.operations / needed : 0;

  const timing::KernelWork& k = work.kernel;
  const std::pair<Level, double> levels[] = {{Level::kLds, work.lds_bytes},
                                             {Level::kL1, k.l1_bytes},
                                             {Level::kL2, work.l1_to_l2_bytes},
                                             {Level::kL3, k.l3_reads > 0 ? k.fabric_bytes : 0},
                                             {Level::kVram, k.dram_bytes}};
  for (const auto& [level, bytes] : levels) {
    if (bytes == 0) continue;
    LevelTraffic traffic{level, bytes, roof.operations / bytes, seconds > 0 ? bytes / seconds : 0,
                         ceiling_of(peaks.find(level))};
    const double roof_here = traffic.ceiling * traffic.intensity;
    if (roof.operations > 0 && traffic.ceiling > 0 &&
        (roof.attainable == 0 || roof_here < roof.attainable)) {
      roof.attainable = roof_here;
      roof.bound_level = level;
      roof.is_memory_bound = true;
    }
    roof.levels.push_back(traffic);
  }
  if (roof.operations == 0) {
    // Without arithmetic only memory can be the limit: the level that is busiest.
    roof.is_memory_bound = true;
    double worst = -1;
    for (const LevelTraffic& traffic : roof.levels) {
      const double share = traffic.ceiling > 0 ? traffic.achieved / traffic.ceiling : 0;
      if (share > worst) worst = share, roof.bound_level = traffic.level;
    }
  }
  return roof;
}

}  // namespace wavetap::profile
