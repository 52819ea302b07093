// From counters to work: the same figures whether our engine counted them, our caches were modelled,
// or AMD's tools read them from hardware.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "model/occupancy.h"
#include "profile/sample.h"
#include "timing/kernel_time.h"

namespace wavetap::profile {

// Floating-point and integer operations of one dispatch.
struct Operations {
  double vector[3] = {};              // f16, f32, f64
  std::array<double, 7> matrix = {};  // by model::Precision
  double flops() const;               // all that are floating-point
};

enum class Caches : uint8_t {
  kNone,  // nothing is known: every line is taken to come from memory
  kModelled,
  kMeasured,  // by hardware
};
const char* name_of(Caches caches);

struct Work {
  timing::KernelWork kernel;
  model::KernelNeeds needs;
  Operations operations;
  double instructions = 0;
  double lds_bytes = 0;
  double l1_to_l2_bytes = 0;
  Caches caches = Caches::kNone;
};

Work work_of(const model::Model& model, const Sample& sample);

}  // namespace wavetap::profile
