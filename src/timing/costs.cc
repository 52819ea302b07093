#include "timing/costs.h"

#include <algorithm>

namespace wavetap::timing {

Costs costs_of(const model::Model& model, bool wave64) {
  const amd::GfxTarget target = model.target;
  if (target.major == 9) {
    const double f64 = target.is_gfx90a_family() ? 4 : 8;
    return {4, 16, f64, 4, 4};
  }
  const double passes = wave64 ? 2 : 1;
  const double f64 = target.major >= 11 ? 32 : 16;  // a 16th or a 32nd of the lanes
  return {passes, 4 * passes, f64 * passes, 5 * passes, 2};
}

double latency_cycles(const model::Model& model, model::Level level, double typical) {
  const auto found = model.latency.find(level);
  if (found == model.latency.end()) return typical;
  const model::Cycles cycles = found->second;
  return (double(cycles.least) + double(std::max(cycles.most, cycles.least))) / 2;
}

// gpu-benches (gpu-small-kernels): kernels on 64 KiB begin every 2.05 us on an MI210 and every 3.29 us on an
// RX 6900 XT, of which such a kernel itself takes some 0.25 and 0.19. Of other GPUs of these families
// nobody has published it.
double launch_seconds(const model::Model& model) {
  return model.target.major == 9 ? 1.8e-6 : 3.1e-6;
}

}  // namespace wavetap::timing
