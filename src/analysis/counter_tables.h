// What kernels were counted to do, as tables of a report.
#pragma once

#include "analysis/analysis.h"

namespace wavetap::analysis {

// The figures most people ask for, a row per kernel, on average per dispatch. No rows: nothing was counted.
Table counted_kernels_table(const store::Trace& trace, const Options& options);

// Every counter of every kernel.
Table counters_table(const store::Trace& trace, const Options& options);

}  // namespace wavetap::analysis
