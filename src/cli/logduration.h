// The variables of logduration and Omniprobe (LOGDUR_…), for who comes from there: they are defaults of
// our options, and what is on the command line counts more. docs/coming-from.md lists them.
#pragma once

#include "cli/program_run.h"

namespace wavetap::cli {

// `wavetap run`: LOGDUR_LOG_LOCATION is --durations, LOGDUR_KERNEL_CACHE --swap.
void use_logduration_variables(RecordingOptions& recording, SwapOptions& swap);

// What of `wavetap probe` they are defaults of.
struct LogdurationDefaults {
  ProbeRunOptions& probe;
  std::string& dispatches;      // -d
  std::string& library_filter;  // a file
  std::string& json;
};
// `wavetap probe`: LOGDUR_FILTER is -k, LOGDUR_DISPATCHES -d, LOGDUR_LIBRARY_FILTER --library-filter, LOGDUR_LOG_LOCATION with
// LOGDUR_LOG_FORMAT=json --json; of LOGDUR_HANDLERS it is said what to write instead. An error when a value cannot be understood.
Status use_logduration_variables(const LogdurationDefaults& options);

}  // namespace wavetap::cli
