// How much of what was launched had not finished yet, over time: a counter both timeline formats
// draw.
#pragma once

#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::exporter {

struct DepthSample {
  int64_t time = 0;
  int32_t gpu = 0;
  int32_t depth = 0;
};

// By GPU, then by time; one sample per point in time at which something was launched or ended. An
// op counts from the start of its call (`call_of_op`, kNoRow for none) to its own end.
std::vector<DepthSample> queue_depths(const store::Trace& trace,
                                      const std::vector<uint32_t>& call_of_op);

}  // namespace wavetap::exporter
