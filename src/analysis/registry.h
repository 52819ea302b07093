// The list of analyses, for those who run them by name: the command line and the C interface.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/analysis.h"

namespace wavetap::analysis {

// Every analysis, in the order help lists them.
const std::vector<Analysis>& all_analyses();

// The error names the one that was probably meant, or all there are.
Result<const Analysis*> find_analysis(std::string_view name);

// Runs it. The report carries its name and warns of what is wrong with the trace.
Result<Report> run_analysis(const Analysis& analysis, const store::Trace& trace,
                            const Options& options);

}  // namespace wavetap::analysis
