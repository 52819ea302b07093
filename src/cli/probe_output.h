// The folder of `wavetap probe -o DIR`, made fit for people: the results as JSON, a page, pictures.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/probe_results.h"

namespace wavetap::cli {

// Adds to what the probed program left there: probe.json, index.html, heatmap-N.png, and what
// handlers wrote themselves under names without process ids where there was one process.
Status write_probe_output(const std::string& folder, const inspect::ProbeResults& results,
                          const std::vector<std::string>& handlers, const std::string& json);

}  // namespace wavetap::cli
