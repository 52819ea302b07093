// busy: how much of the time each GPU worked. Overlapping work counts once; the sum of durations,
// which RPD's view calls busy and which exceeds the wall time when queues overlap, stands beside
// it.
#include <map>

#include "analysis/analysis.h"
#include "analysis/intervals.h"
#include "analysis/op_kind.h"

namespace wavetap::analysis {
namespace {

struct Gpu {
  int64_t ops = 0;
  int64_t sum = 0;
  std::vector<Interval> all, kernels, copies;
};

Result<Report> analyze_busy(const store::Trace& trace, const Options& options) {
  const OpKinds kinds(trace);
  std::map<int32_t, Gpu> gpus;
  Span span;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Interval interval{trace.ops.start[op], trace.ops.end[op]};
    Gpu& gpu = gpus[trace.ops.gpu[op]];
    ++gpu.ops;
    gpu.sum += interval.end - interval.begin;
    gpu.all.push_back(interval);
    if (kinds[op] == OpKind::kKernel) gpu.kernels.push_back(interval);
    if (kinds[op] == OpKind::kCopy) gpu.copies.push_back(interval);
    span.begin = op == 0 ? interval.begin : std::min(span.begin, interval.begin);
    span.end = op == 0 ? interval.end : std::max(span.end, interval.end);
  }

  Report report;
  report.facts.push_back({"wall_ns", "first to last GPU activity", Unit::kNs, span.length()});
  Table table{.name = "gpus",
              .title = "Busy time per GPU",
              .columns = {{"gpu", "GPU", Unit::kCount},
                          {"ops", "OPS", Unit::kCount},
                          {"busy_ns", "BUSY", Unit::kNs},
                          {"busy_share", "BUSY", Unit::kShare},
                          {"kernel_ns", "KERNELS", Unit::kNs},
                          {"copy_ns", "COPIES", Unit::kNs},
                          {"summed_ns", "SUMMED", Unit::kNs}}};
  for (auto& [id, gpu] : gpus) {
    const int64_t busy =
        options.rpd_compatible ? gpu.sum : total_length(merged(std::move(gpu.all)));
    const double share =
        span.length() > 0 ? static_cast<double>(busy) / static_cast<double>(span.length()) : 0;
    table.rows.push_back({int64_t{id}, gpu.ops, busy, share,
                          total_length(merged(std::move(gpu.kernels))),
                          total_length(merged(std::move(gpu.copies))), gpu.sum});
  }
  report.tables.push_back(std::move(table));
  if (gpus.empty()) report.warnings.push_back("no GPU activity in the trace");
  if (options.rpd_compatible)
    report.notes.push_back("busy is the sum of durations; overlapping work counts twice");
  return report;
}

}  // namespace

extern const Analysis kBusy{.name = "busy",
                            .help = "share of the time each GPU worked, overlap counted once",
                            .run = analyze_busy};

}  // namespace wavetap::analysis
