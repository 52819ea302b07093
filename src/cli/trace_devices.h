#pragma once

#include <string>

#include "analysis/analysis.h"

namespace wavetap::cli {

// Warns in a report of a trace when a layer misreported a GPU to the program, and shows the figures
// side by side; shows figures that were corrected. Adds nothing when all layers agree, or the trace
// does not say.
void add_device_truth(const std::string& trace, analysis::Report& report);

}  // namespace wavetap::cli
