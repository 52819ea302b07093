// What a program left behind when it died: faults, work in flight, what each queue did last, and the
// calls its threads were in.
#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "store/trace.h"

namespace wavetap::analysis {

// What of a trace post_mortem() looks at.
store::LoadOptions post_mortem_load();
// One line each, for people; empty when the program left nothing.
std::vector<std::string> post_mortem(const store::Trace& trace);
// The same as tables; none for a program that ended well. What each queue did last is left out: the
// trace of a report has no dispatches.
void add_post_mortem(const store::Trace& trace, const Options& options, Report& report);

}  // namespace wavetap::analysis
