#pragma once

#include <string>

#include "base/result.h"

namespace wavetap::cli {

// Makes one JSON document of the lines the library left in `lines_path` (docs/counters.md) and
// writes it to `json_path`: {"version": 1, "emulated": true, "dispatches": […], "totals": {…}}. A
// last line that a killed program left unfinished is counted in "losses". No lines at all: no
// dispatches.
Status write_counters(const std::string& lines_path, const std::string& json_path);

}  // namespace wavetap::cli
