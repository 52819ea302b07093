// What the commands that read a trace share.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "store/trace.h"

namespace wavetap::cli {

// Loads with a progress line on a terminal.
Result<store::Trace> load_trace(const std::string& path, store::LoadOptions options);

// As tables in the terminal's width, or as JSON.
void print_report(const analysis::Report& report, const store::Trace& trace, bool json);

}  // namespace wavetap::cli
