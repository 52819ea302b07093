// What each queue of each GPU did: a table that `report` and `streams` both show.
#pragma once

#include "analysis/analysis.h"

namespace wavetap::analysis {

Table queue_table(const store::Trace& trace, const Options& options);

}  // namespace wavetap::analysis
