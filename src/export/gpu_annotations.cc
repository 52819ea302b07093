#include "export/gpu_annotations.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/marker.h"

namespace wavetap::exporter {
namespace {

using store::kNoRow;

struct Range {
  uint32_t row = 0;
  uint32_t parent = kNoRow;  // index of the range around it, on the same thread
};

// The marked ranges of every thread, outer before inner.
std::vector<std::vector<Range>> find_ranges(const store::Trace& trace) {
  const store::Apis& apis = trace.apis;
  std::vector<std::vector<Range>> ranges(trace.threads.size());
  const store::Str marker = trace.strings.find("UserMarker");
  for (uint32_t row = 0; row < apis.size(); ++row)
    if (apis.name[row] == marker && apis.end[row] > apis.start[row] &&
        analysis::find_marker_numbers(trace.args(row)) == std::string_view::npos)
      ranges[apis.thread[row]].push_back({row, kNoRow});
  for (std::vector<Range>& list : ranges) {
    std::sort(list.begin(), list.end(), [&](const Range& a, const Range& b) {
      return std::tuple(apis.start[a.row], -apis.end[a.row], b.row) <
             std::tuple(apis.start[b.row], -apis.end[b.row], a.row);
    });
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < list.size(); ++i) {
      while (!open.empty() && apis.end[list[open.back()].row] < apis.end[list[i].row])
        open.pop_back();
      if (!open.empty()) list[i].parent = open.back();
      open.push_back(i);
    }
  }
  return ranges;
}

}  // namespace

std::vector<GpuAnnotation> find_gpu_annotations(const store::Trace& trace) {
  const store::Apis& apis = trace.apis;
  const std::vector<std::vector<Range>> ranges = find_ranges(trace);
  std::map<std::tuple<uint32_t, int32_t, int32_t>, GpuAnnotation> found;
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i], op = trace.links.op[i];
    if (api == kNoRow || op == kNoRow) continue;
    // The range that began last before the call, or one around it.
    const std::vector<Range>& list = ranges[apis.thread[api]];
    const auto after =
        std::upper_bound(list.begin(), list.end(), apis.start[api],
                         [&](int64_t t, const Range& r) { return t < apis.start[r.row]; });
    uint32_t at = after == list.begin() ? kNoRow : static_cast<uint32_t>(after - list.begin() - 1);
    for (; at != kNoRow; at = list[at].parent) {
      if (apis.end[list[at].row] < apis.end[api]) continue;
      const auto [it, is_new] =
          found.try_emplace({list[at].row, trace.ops.gpu[op], trace.ops.queue[op]});
      GpuAnnotation& a = it->second;
      if (is_new)
        a = {list[at].row,        trace.ops.gpu[op], trace.ops.queue[op],
             trace.ops.start[op], trace.ops.end[op], 0};
      a.begin = std::min(a.begin, trace.ops.start[op]);
      a.end = std::max(a.end, trace.ops.end[op]);
      ++a.ops;
    }
  }
  std::vector<GpuAnnotation> out;
  out.reserve(found.size());
  for (const auto& [key, annotation] : found) out.push_back(annotation);
  return out;
}

}  // namespace wavetap::exporter
