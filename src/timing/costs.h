// What single instructions of a wave cost on a GPU: figures that kernels and traces of waves are timed by.
#pragma once

#include "model/model.h"

namespace wavetap::timing {

// Cycles that one wave instruction keeps its pipe, by generation.
struct Costs {
  double valu;   // 32-bit arithmetic
  double trans;  // transcendental
  double f64;    // double precision
  double step;   // from one instruction of a wave to the next that needs its result
  double scalar_step;
};
Costs costs_of(const model::Model& model, bool wave64);

// How long an access that this level answers takes, in cycles of the engine clock. `typical` where
// nobody has measured it.
double latency_cycles(const model::Model& model, model::Level level, double typical);

// From the end of a short kernel to the start of the next in its queue.
double launch_seconds(const model::Model& model);

}  // namespace wavetap::timing
