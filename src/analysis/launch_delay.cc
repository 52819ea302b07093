// launch-delay: from the end of the launching call to the start of the kernel. A kernel that finds
// its queue empty shows the cost of launching; one that does not shows how much work was queued
// before it.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/op_kind.h"
#include "analysis/stats.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

void add_stats(Table& table, std::string name, std::vector<int64_t>& delays) {
  std::sort(delays.begin(), delays.end());
  int64_t sum = 0;
  for (const int64_t d : delays) sum += d;
  table.rows.push_back({std::move(name), static_cast<int64_t>(delays.size()),
                        delays.empty() ? int64_t{0} : sum / static_cast<int64_t>(delays.size()),
                        percentile(delays, 50), percentile(delays, 90), percentile(delays, 99),
                        delays.empty() ? int64_t{0} : delays.back()});
}

std::vector<Column> columns(const char* key, const char* title) {
  return {{key, title, Unit::kKernel},    {"launches", "LAUNCHES", Unit::kCount},
          {"mean_ns", "MEAN", Unit::kNs}, {"p50_ns", "P50", Unit::kNs},
          {"p90_ns", "P90", Unit::kNs},   {"p99_ns", "P99", Unit::kNs},
          {"max_ns", "MAX", Unit::kNs}};
}

Result<Report> analyze_launch_delay(const store::Trace& trace, const Options& options) {
  const OpKinds kinds(trace);
  struct Delayed {
    int64_t start, end, delay;
    store::Str name;
    bool empty_queue = false;
  };
  std::map<std::pair<int32_t, int32_t>, std::vector<Delayed>> queues;
  uint64_t negative = 0;
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i], op = trace.links.op[i];
    if (api == kNoRow || op == kNoRow || kinds[op] != OpKind::kKernel) continue;
    const int64_t delay = trace.ops.start[op] - trace.apis.end[api];
    negative += delay < 0 ? 1 : 0;
    queues[{trace.ops.gpu[op], trace.ops.queue[op]}].push_back(
        {trace.ops.start[op], trace.ops.end[op], delay, trace.ops.name(op)});
  }
  std::vector<int64_t> empty, queued;
  std::map<store::Str, std::vector<int64_t>> by_kernel;
  for (auto& [id, launches] : queues) {
    std::sort(launches.begin(), launches.end(),
              [](const Delayed& a, const Delayed& b) { return a.start < b.start; });
    int64_t reached = launches.front().start;
    bool first = true;
    for (const Delayed& launch : launches) {
      // Nothing else of the queue was running when the call returned.
      const bool found_empty = first || launch.start - launch.delay >= reached;
      (found_empty ? empty : queued).push_back(launch.delay);
      by_kernel[launch.name].push_back(launch.delay);
      reached = std::max(reached, launch.end);
      first = false;
    }
  }
  Report report;
  Table summary{.name = "queues",
                .title = "From the end of the launching call to the start of the kernel",
                .columns = columns("queue", "QUEUE WAS")};
  add_stats(summary, "empty", empty);
  add_stats(summary, "busy", queued);
  report.tables.push_back(std::move(summary));
  Table kernels{.name = "kernels", .title = "By kernel", .columns = columns("kernel", "KERNEL")};
  for (auto& [name, delays] : by_kernel) add_stats(kernels, std::string(trace.str(name)), delays);
  std::stable_sort(kernels.rows.begin(), kernels.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
  });
  cut_to_top(kernels, options);
  report.tables.push_back(std::move(kernels));
  if (negative > 0)
    report.notes.push_back(util::count_of(negative, "kernel") +
                           " started before the launching call returned");
  if (queues.empty()) report.notes.push_back("no kernel in the trace is linked to a call");
  return report;
}

}  // namespace

extern const Analysis kLaunchDelay{.name = "launch-delay",
                                   .help = "time from a launch to the start of its kernel",
                                   .run = analyze_launch_delay};

}  // namespace wavetap::analysis
