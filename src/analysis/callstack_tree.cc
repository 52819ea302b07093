#include "analysis/callstack_tree.h"

#include <algorithm>

#include "util/sort_runs.h"

namespace wavetap::analysis {

std::vector<int64_t> gpu_time_per_api(const store::Trace& trace) {
  std::vector<int64_t> time(trace.apis.size(), 0);
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i];
    const uint32_t op = trace.links.op[i];
    if (api == store::kNoRow || op == store::kNoRow) continue;
    time[api] += std::max<int64_t>(0, trace.ops.end[op] - trace.ops.start[op]);
  }
  return time;
}

std::vector<uint32_t> call_depths(const CallTree& tree) {
  std::vector<uint32_t> depths(tree.parent.size(), 0);
  for (const uint32_t row : tree.order)
    if (tree.parent[row] != store::kNoRow) depths[row] = depths[tree.parent[row]] + 1;
  return depths;
}

CallTree build_call_tree(const store::Trace& trace) {
  const store::Apis& apis = trace.apis;
  const size_t n = apis.size();
  CallTree tree;
  tree.parent.assign(n, store::kNoRow);
  tree.gpu_self = gpu_time_per_api(trace);
  tree.gpu_total = tree.gpu_self;
  tree.cpu_self.resize(n);
  for (size_t row = 0; row < n; ++row)
    tree.cpu_self[row] = std::max<int64_t>(0, apis.end[row] - apis.start[row]);

  // Bucket rows by thread, then sort each bucket: outer calls before what they contain.
  std::vector<uint32_t> first(trace.threads.size() + 1, 0);
  for (const uint32_t t : apis.thread) ++first[t + 1];
  for (size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
  tree.order.resize(n);
  std::vector<uint32_t> fill(first.begin(), first.end());
  for (size_t row = 0; row < n; ++row)
    tree.order[fill[apis.thread[row]]++] = static_cast<uint32_t>(row);

  const auto outer_first = [&](uint32_t a, uint32_t b) {
    if (apis.start[a] != apis.start[b]) return apis.start[a] < apis.start[b];
    if (apis.end[a] != apis.end[b]) return apis.end[a] > apis.end[b];
    return a > b;
  };
  std::vector<uint32_t> stack;
  for (size_t t = 0; t + 1 < first.size(); ++t) {
    uint32_t* const begin = tree.order.data() + first[t];
    uint32_t* const end = tree.order.data() + first[t + 1];
    util::sort_runs(begin, end, outer_first);
    stack.clear();
    for (const uint32_t* it = begin; it != end; ++it) {
      const uint32_t row = *it;
      while (!stack.empty()) {
        const uint32_t top = stack.back();
        if (apis.end[top] <= apis.start[row] &&
            !(apis.start[top] == apis.start[row] && apis.end[row] == apis.end[top])) {
          stack.pop_back();
        } else if (apis.end[top] < apis.end[row]) {
          ++tree.crossing;
          stack.pop_back();
        } else {
          break;
        }
      }
      if (!stack.empty()) {
        tree.parent[row] = stack.back();
        tree.cpu_self[stack.back()] -= std::max<int64_t>(0, apis.end[row] - apis.start[row]);
      }
      stack.push_back(row);
    }
  }
  // Callees come after their callers in `order`, so one backward walk adds up whole subtrees.
  for (auto it = tree.order.rbegin(); it != tree.order.rend(); ++it)
    if (tree.parent[*it] != store::kNoRow) tree.gpu_total[tree.parent[*it]] += tree.gpu_total[*it];
  return tree;
}

}  // namespace wavetap::analysis
