// wavetap profile --empirical: what the GPU reaches at most, measured by kernels of our own.
#pragma once

#include <string>

#include "cli/program_run.h"

namespace wavetap::cli {

// On the GPU of this machine, or on the virtual one that `run` names, whose figures are the emulation's. `folder`: write
// empirical.json and measured.txt there; "": do not. Returns the exit status.
int measure_empirically(const RunOptions& run, const std::string& folder, bool as_json);

}  // namespace wavetap::cli
