// The times in which a GPU, between its first and its last op, ran nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/intervals.h"
#include "store/trace.h"

namespace wavetap::analysis {

struct IdleGap {
  int32_t gpu = 0;
  Interval time;
  uint32_t before = store::kNoRow;  // op whose end began the gap
  uint32_t after = store::kNoRow;   // op whose start ended it
  int64_t length() const { return time.end - time.begin; }
};

struct IdleGaps {
  std::vector<IdleGap> gaps;  // by GPU, then time
  int64_t wall_ns = 0;        // from first to last op, summed over the GPUs
};

IdleGaps find_idle_gaps(const store::Trace& trace);

}  // namespace wavetap::analysis
