// `wavetap probe --pass` and `--real`: what is prepared before the program starts, and said when it has ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/program_run.h"
#include "inspect/pass_probe.h"

namespace wavetap::cli {

// Handlers that need more than instrumented kernels tell.
Status check_pass_handlers(const std::vector<probe::HandlerChoice>& handlers);

// Writes the request for the agent to `scratch` and sets up the run.
Result<inspect::PassProbeOptions> prepare_pass(RunOptions& run,
                                               const std::vector<probe::HandlerChoice>& handlers,
                                               const std::string& folder,
                                               const std::string& scratch, uint64_t ring_bytes);

// The same for a folder that prepare_pass() wrote its request to, and where programs have left records.
Result<inspect::PassProbeOptions> prepared_pass(RunOptions& run,
                                                const std::vector<probe::HandlerChoice>& handlers,
                                                const std::string& folder);

void print_pass_outcome(const inspect::PassOutcome& outcome);

}  // namespace wavetap::cli
