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
  for (std::vector<Range>& list : ranges)
    std::sort(list.begin(), list.end(), [&](const Range& a, const Range& b) {
      return std::tuple(apis.start[a.row], -apis.end[a.row], b.row) <
             std::tuple(apis.start[b.row], -apis.end[b.row], a.row);
    });
  return ranges;
}

using Queue = std::pair<int32_t, int32_t>;                          // GPU, queue
using Found = std::map<std::pair<uint32_t, Queue>, GpuAnnotation>;  // by index of the range

void add(Found& found, uint32_t range, const GpuAnnotation& part) {
  const auto [it, is_new] = found.try_emplace({range, {part.gpu, part.queue}}, part);
  if (is_new) return;
  it->second.begin = std::min(it->second.begin, part.begin);
  it->second.end = std::max(it->second.end, part.end);
  it->second.ops += part.ops;
}

// One thread: its ranges by start, outer first, and its links by the start of their calls. Ranges
// that are open at a time end the later the further out they are, so the innermost one around a call
// is found by halving; what it has its callers get in one pass at the end.
void annotate_thread(const store::Trace& trace, std::vector<Range>& ranges,
                     const std::vector<uint32_t>& links, std::vector<GpuAnnotation>& out) {
  const store::Apis& apis = trace.apis;
  const auto end_of = [&](uint32_t range) { return apis.end[ranges[range].row]; };
  Found found;
  std::vector<uint32_t> open;
  uint32_t next = 0;
  for (const uint32_t link : links) {
    const uint32_t api = trace.links.api[link], op = trace.links.op[link];
    for (; next < ranges.size() && apis.start[ranges[next].row] <= apis.start[api]; ++next) {
      while (!open.empty() && end_of(open.back()) < end_of(next)) open.pop_back();
      if (!open.empty()) ranges[next].parent = open.back();
      open.push_back(next);
    }
    const auto around = std::partition_point(
        open.begin(), open.end(), [&](uint32_t range) { return end_of(range) >= apis.end[api]; });
    if (around == open.begin()) continue;
    add(found, *(around - 1),
        {0, trace.ops.gpu[op], trace.ops.queue[op], trace.ops.start[op], trace.ops.end[op], 1});
  }
  for (auto it = found.rbegin(); it != found.rend(); ++it)
    if (const uint32_t parent = ranges[it->first.first].parent; parent != kNoRow)
      add(found, parent, it->second);
  for (auto& [key, annotation] : found) {
    annotation.marker = ranges[key.first].row;
    out.push_back(annotation);
  }
}

}  // namespace

std::vector<GpuAnnotation> find_gpu_annotations(const store::Trace& trace) {
  std::vector<std::vector<Range>> ranges = find_ranges(trace);
  std::vector<std::vector<uint32_t>> links(trace.threads.size());
  for (uint32_t i = 0; i < trace.links.size(); ++i)
    if (trace.links.api[i] != kNoRow && trace.links.op[i] != kNoRow)
      links[trace.apis.thread[trace.links.api[i]]].push_back(i);
  std::vector<GpuAnnotation> out;
  for (size_t thread = 0; thread < links.size(); ++thread) {
    if (ranges[thread].empty()) continue;
    std::stable_sort(links[thread].begin(), links[thread].end(), [&](uint32_t a, uint32_t b) {
      return trace.apis.start[trace.links.api[a]] < trace.apis.start[trace.links.api[b]];
    });
    annotate_thread(trace, ranges[thread], links[thread], out);
  }
  std::sort(out.begin(), out.end(), [](const GpuAnnotation& a, const GpuAnnotation& b) {
    return std::tuple(a.marker, a.gpu, a.queue) < std::tuple(b.marker, b.gpu, b.queue);
  });
  return out;
}

}  // namespace wavetap::exporter
