// What a timeline shows: a track per GPU queue and per thread, made of rows whose items follow one
// another. A queue has as many rows as it ran ops at once, a thread as many as its calls nest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/callstack_tree.h"
#include "analysis/time_spec.h"
#include "store/trace.h"

namespace wavetap::analysis {

struct TimelineTrack {
  std::string name;
  bool is_queue = false;  // items are rows of Ops, otherwise of Apis
  // Items by start, and by end too: neither goes back from one to the next.
  std::vector<std::vector<uint32_t>> rows;
};

// Queues first, then threads; of what starts within `window`.
std::vector<TimelineTrack> build_timeline(const store::Trace& trace, const CallTree& tree,
                                          const Window& window);

}  // namespace wavetap::analysis
