// RPD's call-stack tool, as far as it differs from a call tree: the table ext_callstack with one row
// for every call and everything it was made inside of, and its way of charging time.
//
// RPD never charges a root frame for its callees, so its roots come out with their whole duration as
// exclusive time and too much as inclusive time; --rpd-compatible reproduces that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "store/trace.h"

namespace wavetap::analysis {

// Times of each row of Apis, ns. `calls` is 1, or 0 for a call whose end RPD took for another's.
struct CallTimes {
  std::vector<int64_t> calls, cpu_inclusive, cpu_exclusive, gpu_inclusive, gpu_exclusive;
};

// By RPD's walk, with its tie rules: starts before ends at equal times, an end closes whatever call
// is innermost.
CallTimes rpd_call_times(const store::Trace& trace);

// Stores ext_callstack and the views over it. Fails where calls are nested so deeply that the table
// would be larger than any use of it.
Status write_callstack(const std::string& path, const store::Trace& trace, const Options& options);

}  // namespace wavetap::analysis
