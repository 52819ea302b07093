#pragma once

#include <string>

#include "base/result.h"

namespace wavetap::cli {

// Makes one document of the lines the library left in `lines_path` (docs/counters.md) and writes it to
// `path`: a CSV file in the form of AMD's pmc_perf.csv where its name ends so, else JSON: {"version": 1, "emulated": true, "dispatches": […], "totals": {…}}. A
// last line that a killed program left unfinished is counted in "losses". No lines at all: no
// dispatches.
Status write_counters(const std::string& lines_path, const std::string& path);

}  // namespace wavetap::cli
