// Two traces side by side: what became slower, and whether that is more than noise.
#pragma once

#include "analysis/analysis.h"

namespace wavetap::analysis {

struct DiffOptions {
  size_t top = 20;
  bool by_sequence = false;  // match kernels together with the one before them
  double fail_above = -1;    // share, e.g. 0.05; negative: never
};

struct DiffResult {
  Report report;
  bool failed = false;  // something got slower by more than fail_above, beyond noise
};

DiffResult diff_traces(const store::Trace& a, const store::Trace& b, const DiffOptions& options);

}  // namespace wavetap::analysis
