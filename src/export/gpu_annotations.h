// Markers as the GPU saw them: for each range a program marked, when the work launched inside it
// ran.
#pragma once

#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::exporter {

struct GpuAnnotation {
  uint32_t marker = 0;  // row of Apis
  int32_t gpu = 0, queue = 0;
  int64_t begin = 0, end = 0;  // start of the first op, end of the last
  int64_t ops = 0;
};

// One per marker and queue that has ops. Markers PyTorch makes for its operators are left out:
// there are as many as kernels, and each would only repeat its kernel.
std::vector<GpuAnnotation> find_gpu_annotations(const store::Trace& trace);

}  // namespace wavetap::exporter
