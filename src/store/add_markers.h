// Adds markers to a trace that is there: what was learnt of a run after it was recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::store {

struct AddedMarker {
  int64_t pid = 0;
  int64_t time_ns = 0;  // as the trace has times
  std::string category;
  std::string text;
};

// On the first thread of each process. Returns how many were added: those of processes that the trace
// does not have are left out.
Result<uint64_t> add_markers(const std::string& path, const std::vector<AddedMarker>& markers);

}  // namespace wavetap::store
