// overlap: what ran at the same time. One sweep over the starts and ends of each GPU's ops.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/op_kind.h"

namespace wavetap::analysis {
namespace {

struct OverlapEdge {
  int64_t time;
  int delta;  // ends before starts at equal times: touching is not overlapping
  bool kernel;
};

struct Times {
  int64_t busy = 0, one_kernel = 0, kernels = 0, copies_only = 0, kernel_and_copy = 0;
  int64_t deepest = 0;
};

Times sweep(std::vector<OverlapEdge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const OverlapEdge& a, const OverlapEdge& b) {
    return a.time != b.time ? a.time < b.time : a.delta < b.delta;
  });
  Times times;
  int64_t kernels = 0, copies = 0, last = 0;
  for (const OverlapEdge& edge : edges) {
    const int64_t length = edge.time - last;
    if (kernels + copies > 0) times.busy += length;
    if (kernels == 1) times.one_kernel += length;
    if (kernels > 1) times.kernels += length;
    if (kernels > 0 && copies > 0) times.kernel_and_copy += length;
    if (kernels == 0 && copies > 0) times.copies_only += length;
    (edge.kernel ? kernels : copies) += edge.delta;
    times.deepest = std::max(times.deepest, kernels + copies);
    last = edge.time;
  }
  return times;
}

Result<Report> analyze_overlap(const store::Trace& trace, const Options&) {
  const OpKinds kinds(trace);
  std::map<int32_t, std::vector<OverlapEdge>> gpus;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (trace.ops.end[op] <= trace.ops.start[op]) continue;
    const bool kernel = kinds[op] == OpKind::kKernel;
    gpus[trace.ops.gpu[op]].push_back({trace.ops.start[op], 1, kernel});
    gpus[trace.ops.gpu[op]].push_back({trace.ops.end[op], -1, kernel});
  }
  Report report;
  Table table{.name = "gpus",
              .title = "Concurrency per GPU",
              .columns = {{"gpu", "GPU", Unit::kCount},
                          {"busy_ns", "BUSY", Unit::kNs},
                          {"one_kernel_ns", "1 KERNEL", Unit::kNs},
                          {"kernels_ns", "KERNELS", Unit::kNs},
                          {"kernel_and_copy_ns", "KERNEL+COPY", Unit::kNs},
                          {"copies_only_ns", "COPIES ONLY", Unit::kNs},
                          {"deepest", "DEEPEST", Unit::kCount}}};
  for (auto& [gpu, edges] : gpus) {
    const Times t = sweep(edges);
    table.rows.push_back({int64_t{gpu}, t.busy, t.one_kernel, t.kernels, t.kernel_and_copy,
                          t.copies_only, t.deepest});
  }
  report.tables.push_back(std::move(table));
  if (gpus.empty()) report.warnings.push_back("no GPU activity in the trace");
  report.notes.push_back(
      "KERNELS: two or more kernels at once; KERNEL+COPY: a copy or fill beside at least one "
      "kernel");
  return report;
}

}  // namespace

extern const Analysis kOverlap{.name = "overlap",
                               .help = "what ran at the same time: kernels, copies beside kernels",
                               .run = analyze_overlap};

}  // namespace wavetap::analysis
