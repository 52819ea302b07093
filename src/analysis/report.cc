// report: did it run on the GPU, how busy was that, what took the time, and who waited for whom.
// One pass over each table; every number is a plain sum or percentile, nothing is estimated.
#include "analysis/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/allocations.h"
#include "analysis/counter_tables.h"
#include "analysis/idle_gaps.h"
#include "analysis/intervals.h"
#include "analysis/marker.h"
#include "analysis/op_kind.h"
#include "analysis/post_mortem.h"
#include "analysis/queue_table.h"
#include "analysis/render.h"
#include "analysis/stats.h"
#include "analysis/trace_index.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

// Durations by name, summarised. Names are small numbers, so they index a vector.
class Durations {
 public:
  void add(store::Str name, int64_t ns) {
    if (name >= by_name_.size()) by_name_.resize(std::max<size_t>(name + 1, by_name_.size() * 2));
    by_name_[name].push_back(std::max<int64_t>(0, ns));
  }

  // Names by total time, as far as options.top goes.
  Table table(const store::Strings& names, const char* key, const char* title, Column name,
              const Options& options) {
    Table table{.name = key,
                .title = title,
                .columns = {std::move(name),
                            {"calls", "CALLS", Unit::kCount},
                            {"total_ns", "TOTAL", Unit::kNs},
                            {"mean_ns", "MEAN", Unit::kNs},
                            {"p50_ns", "P50", Unit::kNs},
                            {"p99_ns", "P99", Unit::kNs},
                            {"share", "SHARE", Unit::kShare},
                            {"bar", "", Unit::kBar}}};
    std::vector<std::pair<int64_t, store::Str>> order = totals(names);
    int64_t all = 0;
    for (const auto& [sum, of] : order) all += sum;
    table.total_rows = order.size();
    if (options.top != 0 && order.size() > options.top) order.resize(options.top);
    for (const auto& [sum, of] : order) {
      std::vector<int64_t>& values = by_name_[of];
      const int64_t p99 = select_percentile(values, 99), p50 = select_percentile(values, 50);
      table.rows.push_back({std::string(names[of]), static_cast<int64_t>(values.size()), sum,
                            sum / static_cast<int64_t>(values.size()), p50, p99, share_of(sum, all),
                            share_of(sum, all)});
    }
    return table;
  }

 private:
  std::vector<std::pair<int64_t, store::Str>> totals(const store::Strings& names) const {
    std::vector<std::pair<int64_t, store::Str>> out;
    for (store::Str name = 0; name < by_name_.size(); ++name) {
      if (by_name_[name].empty()) continue;
      int64_t sum = 0;
      for (const int64_t v : by_name_[name]) sum += v;
      out.push_back({sum, name});
    }
    std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : names[a.second] < names[b.second];
    });
    return out;
  }

  std::vector<std::vector<int64_t>> by_name_;
};

struct Device {
  int64_t kernels = 0, copies = 0;
  std::vector<Interval> busy;
};

Table device_table(std::map<int32_t, Device>& devices, const Span& span) {
  Table table{.name = "gpus",
              .title = "GPUs",
              .columns = {{"gpu", "GPU", Unit::kCount},
                          {"kernels", "KERNELS", Unit::kCount},
                          {"copies", "COPIES", Unit::kCount},
                          {"busy_ns", "BUSY", Unit::kNs},
                          {"idle_ns", "IDLE", Unit::kNs},
                          {"busy_share", "BUSY", Unit::kShare},
                          {"bar", "", Unit::kBar}}};
  for (auto& [gpu, device] : devices) {
    const int64_t busy = total_length(device.busy = merged(std::move(device.busy)));
    const double share = share_of(busy, span.length());
    table.rows.push_back(
        {int64_t{gpu}, device.kernels, device.copies, busy, span.length() - busy, share, share});
  }
  return table;
}

// Copies by direction. The op's own type names it; bytes come from the call that asked for the
// copy.
Table copy_table(const store::Trace& trace, const OpKinds& kinds,
                 const std::vector<uint32_t>& call_of_op) {
  std::unordered_map<uint32_t, int64_t> bytes_of_api;
  for (const store::Copy& copy : trace.copies) bytes_of_api[copy.api] = copy.size_bytes;
  struct Sums {
    int64_t count = 0, bytes = 0, ns = 0;
  };
  std::map<std::string, Sums> by_type;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (kinds[op] != OpKind::kCopy && kinds[op] != OpKind::kFill) continue;
    Sums& sums = by_type[std::string(trace.str(trace.ops.type[op]))];
    ++sums.count;
    sums.ns += trace.ops.end[op] - trace.ops.start[op];
    if (call_of_op[op] == kNoRow) continue;
    const auto found = bytes_of_api.find(call_of_op[op]);
    if (found == bytes_of_api.end()) continue;
    sums.bytes += found->second;
    bytes_of_api.erase(found);  // a copy split into several ops moves its bytes once
  }
  Table table{.name = "copies",
              .title = "Copies and fills",
              .columns = {{"direction", "DIRECTION"},
                          {"count", "COUNT", Unit::kCount},
                          {"bytes", "BYTES", Unit::kBytes},
                          {"time_ns", "TIME", Unit::kNs},
                          {"bandwidth", "BANDWIDTH", Unit::kBytesPerNs}}};
  for (const auto& [type, sums] : by_type)
    table.rows.push_back({type, sums.count, sums.bytes > 0 ? Cell(sums.bytes) : Cell(), sums.ns,
                          sums.ns > 0 && sums.bytes > 0
                              ? Cell(static_cast<double>(sums.bytes) / static_cast<double>(sums.ns))
                              : Cell()});
  return table;
}

// Share of a GPU's idle time, between its first and last op, in which the next op had not been
// asked for.
struct HostBound {
  int64_t idle = 0;
  int64_t host_late = 0;
  int64_t wall = 0;
};

HostBound host_bound(const store::Trace& trace, const std::vector<uint32_t>& call_of_op) {
  const IdleGaps idle = find_idle_gaps(trace);
  HostBound sums;
  sums.wall = idle.wall_ns;
  for (const IdleGap& gap : idle.gaps) {
    const int64_t length = gap.time.end - gap.time.begin;
    sums.idle += length;
    if (const uint32_t call = call_of_op[gap.after]; call != kNoRow)
      sums.host_late += std::clamp<int64_t>(trace.apis.start[call] - gap.time.begin, 0, length);
  }
  return sums;
}

// `window_share`: the time between a GPU's first and last op, as a share of the trace; the other
// two are shares of that window.
std::string verdict(double late_share, double idle_share, double window_share) {
  if (window_share < 0.5)
    return fmt::format("mostly start-up and exit: GPU work spans {:.0f} %", window_share * 100);
  if (late_share > 0.3) return "launch-bound: the host hands out work too slowly";
  if (idle_share > 0.3) return "idle, but not for want of launches; see `analyze gaps`";
  if (idle_share > 0.1) return "mixed: the GPU idles now and then; see `analyze gaps`";
  return "GPU-bound: kernels and copies fill the time";
}

// What one pass over the trace finds.
struct Work {
  explicit Work(const store::Trace& trace)
      : span(trace_span(trace)), kinds(trace), call_of_op(analysis::call_of_op(trace)) {
    add_ops(trace);
    add_calls(trace);
  }

  const Span span;
  const OpKinds kinds;
  const std::vector<uint32_t> call_of_op;
  Durations kernels, calls, markers;
  store::Strings marker_labels;
  std::map<int32_t, Device> devices;
  int64_t dispatches = 0, copies = 0, call_rows = 0, marker_rows = 0;

 private:
  void add_ops(const store::Trace& trace) {
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      Device& device = devices[trace.ops.gpu[op]];
      device.busy.push_back({trace.ops.start[op], trace.ops.end[op]});
      if (kinds[op] == OpKind::kKernel) {
        kernels.add(trace.ops.name(op), trace.ops.end[op] - trace.ops.start[op]);
        ++device.kernels;
        ++dispatches;
      } else if (kinds[op] == OpKind::kCopy || kinds[op] == OpKind::kFill) {
        ++device.copies;
        ++copies;
      }
    }
  }

  void add_calls(const store::Trace& trace) {
    const store::Str marker = trace.strings.find("UserMarker");
    for (size_t row = 0; row < trace.apis.size(); ++row) {
      const int64_t ns = trace.apis.end[row] - trace.apis.start[row];
      if (trace.apis.name[row] == marker) {
        ++marker_rows;
        markers.add(marker_labels.intern(marker_label(trace.args(row))), ns);
      } else {
        ++call_rows;
        calls.add(trace.apis.name[row], ns);
      }
    }
  }
};

// Kernels that were to run as other code, and what became of it.
Table swap_table(const store::Trace& trace) {
  Table table{.name = "swaps",
              .title = "Replaced kernels",
              .columns = {{"kernel", "KERNEL", Unit::kKernel},
                          {"event", "WHAT"},
                          {"dispatches", "DISPATCHES", Unit::kCount},
                          {"file", "FILE"},
                          {"why", "WHY"}}};
  for (const store::SwapUse& swap : trace.swaps)
    table.rows.push_back({std::string(trace.str(swap.kernel)), std::string(trace.str(swap.event)),
                          swap.dispatches, std::string(trace.str(swap.file)),
                          std::string(trace.str(swap.why))});
  return table;
}

// The head: what ran, for how long, and who waited for whom.
std::vector<Fact> facts_of(const store::Trace& trace, const Work& work) {
  int64_t bytes = 0;
  for (const store::Copy& copy : trace.copies) bytes += copy.size_bytes;
  std::vector<Fact> facts = {{"wall_ns", "wall time", Unit::kNs, work.span.length()},
                             {"calls", "calls", Unit::kCount, work.call_rows},
                             {"dispatches", "kernels run", Unit::kCount, work.dispatches},
                             {"copies", "copies and fills", Unit::kCount, work.copies},
                             {"bytes_copied", "bytes copied", Unit::kBytes, bytes}};
  if (const Peak peak = peak_of(find_allocations(trace).all, /*device_only=*/true); peak.bytes > 0)
    facts.push_back({"peak_memory_bytes", "device memory at its peak", Unit::kBytes, peak.bytes});
  if (const HostBound bound = host_bound(trace, work.call_of_op); bound.wall > 0) {
    const double late = share_of(bound.host_late, bound.wall);
    const auto gpus = static_cast<int64_t>(work.devices.size());
    facts.push_back({"host_late_share", "GPU waited for the host", Unit::kShare, late});
    facts.push_back({"verdict", "verdict", Unit::kText,
                     verdict(late, share_of(bound.idle, bound.wall),
                             share_of(bound.wall, work.span.length() * gpus))});
  }
  if (trace.is_emulated())
    facts.push_back({"emulated", "GPU", Unit::kText,
                     std::string("virtual: times are the emulation's, not hardware's")});
  return facts;
}

std::vector<Table> tables_of(const store::Trace& trace, Work& work, const Options& options,
                             ReportBy by) {
  const bool overview = by == ReportBy::kOverview;
  std::vector<Table> tables;
  if (overview) tables.push_back(device_table(work.devices, work.span));
  if (overview || by == ReportBy::kKernel)
    tables.push_back(work.kernels.table(trace.strings, "kernels", "Kernels by total time",
                                        {"name", "KERNEL", Unit::kKernel}, options));
  if ((overview || by == ReportBy::kKernel) && !trace.counters.empty())
    tables.push_back(counted_kernels_table(trace, options));
  if (by == ReportBy::kCounter) tables.push_back(counters_table(trace, options));
  if ((overview || by == ReportBy::kKernel) && !trace.swaps.empty())
    tables.push_back(swap_table(trace));
  if (overview || by == ReportBy::kApi)
    tables.push_back(work.calls.table(trace.strings, "calls", "Calls by total time",
                                      {"name", "CALL", Unit::kText}, options));
  if (overview && work.copies > 0) tables.push_back(copy_table(trace, work.kinds, work.call_of_op));
  if ((overview && work.marker_rows > 0) || by == ReportBy::kMarker)
    tables.push_back(work.markers.table(work.marker_labels, "markers", "Markers by total time",
                                        {"name", "MARKER", Unit::kText}, options));
  if (by == ReportBy::kStream) tables.push_back(queue_table(trace, options));
  return tables;
}

}  // namespace

Report build_report(const store::Trace& trace, const Options& options, ReportBy by) {
  Work work(trace);
  Report report;
  report.analysis = "report";
  if (work.dispatches == 0)
    report.warnings.push_back(trace.ops.size() == 0
                                  ? "nothing ran on a GPU in this trace: no kernel, no copy"
                                  : "no kernel ran on a GPU in this trace, only copies and fills");
  for (std::string& warning : trace_warnings(trace)) report.warnings.push_back(std::move(warning));
  report.facts = facts_of(trace, work);
  report.tables = tables_of(trace, work, options, by);
  if (by == ReportBy::kOverview) add_post_mortem(trace, options, report);
  return report;
}

}  // namespace wavetap::analysis
