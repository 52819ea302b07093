// What the commands that read a trace share.
#pragma once

#include <memory>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "store/trace.h"
#include "util/progress.h"

namespace wavetap::cli {

// Loads with a progress line on a terminal. With `progress` the line stays after loading, for as
// long as that lives: what is done with the trace may take its time too.
Result<store::Trace> load_trace(const std::string& path, store::LoadOptions options,
                                util::Progress* progress = nullptr);
// The line for a command that reads `path`.
std::unique_ptr<util::Progress> reading_progress(const std::string& path);

// As tables in the terminal's width, or as JSON.
void print_report(const analysis::Report& report, const store::Trace& trace, bool json);

}  // namespace wavetap::cli
