#pragma once

#include <vector>

#include "analysis/analysis.h"
#include "model/model.h"
#include "store/trace.h"

namespace wavetap::doctor {

// Warns in a report of a trace when a layer misreported a GPU to the program, and shows the figures
// side by side; shows figures that were corrected. Adds nothing when all layers agree, or the trace
// does not say. `known`: the GPUs whose published figures are known.
void add_device_truth(const store::Trace& trace, const std::vector<model::Model>& known,
                      analysis::Report& report);

}  // namespace wavetap::doctor
