// Which call was made inside which: the nesting of calls and markers per thread, found from their
// times.
#pragma once

#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::analysis {

// One element per row of Apis.
struct CallTree {
  std::vector<uint32_t> parent;    // row, or kNoRow for a root
  std::vector<uint32_t> order;     // rows, thread by thread, each caller before its callees
  std::vector<int64_t> cpu_self;   // ns not spent in callees
  std::vector<int64_t> gpu_self;   // ns of the ops this call itself launched
  std::vector<int64_t> gpu_total;  // with those of its callees
  // Calls that overlap a neighbour without nesting; kept as siblings.
  uint64_t crossing = 0;
};

// A call is inside another of its thread when its whole interval is. At equal times: a call that
// starts where another ends is its sibling; of two that start together the longer one is outside,
// of two equal ones the later-numbered (markers get their number when they end, so the outer has
// the larger).
CallTree build_call_tree(const store::Trace& trace);

// How many calls each one lies in; 0 for a root.
std::vector<uint32_t> call_depths(const CallTree& tree);

// GPU time of each api row: the sum of its ops' durations.
std::vector<int64_t> gpu_time_per_api(const store::Trace& trace);

}  // namespace wavetap::analysis
