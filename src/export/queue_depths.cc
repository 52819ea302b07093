#include "export/queue_depths.h"

#include <algorithm>
#include <map>

namespace wavetap::exporter {

std::vector<DepthSample> queue_depths(const store::Trace& trace,
                                      const std::vector<uint32_t>& call_of_op) {
  // Launches come nearly in order and so do ends; sorted apart, each is quick to sort and the two
  // are merged.
  struct Edges {
    std::vector<int64_t> begin, end;
  };
  std::map<int32_t, Edges> gpus;
  Edges* edges = nullptr;
  int32_t last_gpu = 0;
  size_t count = 0;
  for (size_t op = 0; op < call_of_op.size(); ++op) {
    const uint32_t api = call_of_op[op];
    if (api == store::kNoRow) continue;
    if (edges == nullptr || trace.ops.gpu[op] != last_gpu)
      edges = &gpus[last_gpu = trace.ops.gpu[op]];
    const int64_t asked = trace.apis.start[api];
    edges->begin.push_back(asked);
    edges->end.push_back(std::max(trace.ops.end[op], asked));
    count += 2;
  }
  std::vector<DepthSample> samples;
  samples.reserve(count);
  for (auto& [gpu, e] : gpus) {
    for (std::vector<int64_t>* times : {&e.begin, &e.end})
      if (!std::is_sorted(times->begin(), times->end())) std::sort(times->begin(), times->end());
    int32_t depth = 0;
    for (size_t b = 0, end = 0; end < e.end.size();) {
      const int64_t time = b < e.begin.size() ? std::min(e.begin[b], e.end[end]) : e.end[end];
      for (; b < e.begin.size() && e.begin[b] == time; ++b) ++depth;
      for (; end < e.end.size() && e.end[end] == time; ++end) --depth;
      samples.push_back({time, gpu, depth});
    }
  }
  return samples;
}

}  // namespace wavetap::exporter
