#include "analysis/idle_gaps.h"

#include <algorithm>
#include <map>
#include <utility>

namespace wavetap::analysis {

IdleGaps find_idle_gaps(const store::Trace& trace) {
  const store::Ops& ops = trace.ops;
  std::map<int32_t, std::vector<uint32_t>> per_gpu;
  for (uint32_t op = 0; op < ops.size(); ++op) per_gpu[ops.gpu[op]].push_back(op);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return std::pair(ops.start[a], ops.end[a]) < std::pair(ops.start[b], ops.end[b]);
  };

  IdleGaps out;
  for (auto& [gpu, list] : per_gpu) {
    if (!std::is_sorted(list.begin(), list.end(), earlier))
      std::stable_sort(list.begin(), list.end(), earlier);
    uint32_t reaching = list.front();  // op that ends last so far
    for (const uint32_t op : list) {
      if (ops.start[op] > ops.end[reaching])
        out.gaps.push_back({gpu, {ops.end[reaching], ops.start[op]}, reaching, op});
      if (ops.end[op] > ops.end[reaching]) reaching = op;
    }
    out.wall_ns += ops.end[reaching] - ops.start[list.front()];
  }
  return out;
}

}  // namespace wavetap::analysis
