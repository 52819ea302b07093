// What a program's own calls did wrong, from a recording of them: memory and handles that it did not give
// back (leakcheck), frees and copies of what it does not have (hostcheck). And which call is behind a copy that
// races with something (racecheck).
#pragma once

#include <string>

#include "base/result.h"
#include "cli/sanitize_report.h"
#include "sanitize/kinds.h"

namespace wavetap::cli {

// Whether one of the tools finds mistakes in calls, and nothing where there are none.
bool looks_at_calls(const sanitize::ToolSet& tools);
// Whether the calls of a program have to be recorded for them, with arguments and stacks: racecheck names those
// behind copies, memcheck hears of pools, and both name who launched a kernel.
bool needs_recording(const sanitize::ToolSet& tools);

// Adds findings to the report, folded by kind, call and stack, and what calls tell about those that are there.
Status find_host_mistakes(const std::string& trace_path, const sanitize::ToolSet& tools,
                          SanitizeReport& report);

}  // namespace wavetap::cli
