// report: did it run on the GPU, how busy was that, what took the time, and who waited for whom. One pass
// over each table; every number is a plain sum or percentile, nothing is estimated.
#include "analysis/report.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/call_args.h"
#include "analysis/intervals.h"
#include "analysis/op_kind.h"
#include "analysis/render.h"
#include "analysis/stats.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

// Durations by name, summarised.
class Durations {
 public:
  void add(store::Str name, int64_t ns) { by_name_[name].push_back(ns); }

  Table table(const store::Trace& trace, const char* key, const char* title, const char* what, const Options& options,
              Unit name_unit = Unit::kText) {
    Table table{key, title,
                {{"name", what, name_unit}, {"calls", "CALLS", Unit::kCount}, {"total_ns", "TOTAL", Unit::kNs},
                 {"mean_ns", "MEAN", Unit::kNs}, {"p50_ns", "P50", Unit::kNs}, {"p99_ns", "P99", Unit::kNs},
                 {"share", "SHARE", Unit::kShare}},
                {}, 0};
    int64_t all = 0;
    std::vector<std::pair<int64_t, store::Str>> order;
    for (const auto& [name, values] : by_name_) {
      int64_t sum = 0;
      for (const int64_t v : values) sum += v;
      all += sum;
      order.push_back({sum, name});
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : trace.str(a.second) < trace.str(b.second);
    });
    table.total_rows = order.size();
    if (options.top != 0 && order.size() > options.top) order.resize(options.top);
    for (const auto& [sum, name] : order) {
      std::vector<int64_t>& values = by_name_[name];
      std::sort(values.begin(), values.end());
      const double share = all > 0 ? static_cast<double>(sum) / static_cast<double>(all) : 0.0;
      table.rows.push_back({std::string(trace.str(name)), static_cast<int64_t>(values.size()), sum,
                            sum / static_cast<int64_t>(values.size()), percentile(values, 50), percentile(values, 99), share});
    }
    return table;
  }

 private:
  std::unordered_map<store::Str, std::vector<int64_t>> by_name_;
};

struct Device {
  int64_t kernels = 0, copies = 0;
  std::vector<Interval> busy;
};

Table device_table(std::map<int32_t, Device>& devices, const Span& span) {
  Table table{"gpus", "GPUs",
              {{"gpu", "GPU", Unit::kCount}, {"kernels", "KERNELS", Unit::kCount}, {"copies", "COPIES", Unit::kCount},
               {"busy_ns", "BUSY", Unit::kNs}, {"idle_ns", "IDLE", Unit::kNs}, {"busy_share", "BUSY", Unit::kShare},
               {"bar", "", Unit::kBar}},
              {}, 0};
  for (auto& [gpu, device] : devices) {
    const int64_t busy = total_length(device.busy = merged(std::move(device.busy)));
    const double share = span.length() > 0 ? static_cast<double>(busy) / static_cast<double>(span.length()) : 0.0;
    table.rows.push_back({int64_t{gpu}, device.kernels, device.copies, busy, span.length() - busy, share, share});
  }
  return table;
}

// Copies by direction. The op's own type names it; bytes come from the call that asked for the copy.
Table copy_table(const store::Trace& trace, const OpKinds& kinds, const std::vector<uint32_t>& api_of_op) {
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
    if (api_of_op[op] == kNoRow) continue;
    const auto found = bytes_of_api.find(api_of_op[op]);
    if (found == bytes_of_api.end()) continue;
    sums.bytes += found->second;
    bytes_of_api.erase(found);  // a copy split into several ops moves its bytes once
  }
  Table table{"copies", "Copies and fills",
              {{"direction", "DIRECTION"}, {"count", "COUNT", Unit::kCount}, {"bytes", "BYTES", Unit::kBytes},
               {"time_ns", "TIME", Unit::kNs}, {"bandwidth", "BANDWIDTH", Unit::kBytesPerNs}},
              {}, 0};
  for (const auto& [type, sums] : by_type)
    table.rows.push_back({type, sums.count, sums.bytes, sums.ns,
                          sums.ns > 0 ? Cell(static_cast<double>(sums.bytes) / static_cast<double>(sums.ns)) : Cell()});
  return table;
}

// Share of a GPU's idle time, between its first and last op, in which the next op had not been asked for.
struct HostBound {
  int64_t idle = 0;
  int64_t host_late = 0;
  int64_t wall = 0;
};

HostBound host_bound(const store::Trace& trace, const std::vector<uint32_t>& api_of_op) {
  HostBound sums;
  std::map<int32_t, std::vector<uint32_t>> per_gpu;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) per_gpu[trace.ops.gpu[op]].push_back(op);
  for (auto& [gpu, ops] : per_gpu) {
    std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) { return trace.ops.start[a] < trace.ops.start[b]; });
    int64_t reached = trace.ops.end[ops.front()];
    for (const uint32_t op : ops) {
      const int64_t start = trace.ops.start[op];
      if (start > reached) {
        sums.idle += start - reached;
        if (api_of_op[op] != kNoRow)
          sums.host_late += std::clamp<int64_t>(trace.apis.start[api_of_op[op]] - reached, 0, start - reached);
      }
      reached = std::max(reached, trace.ops.end[op]);
    }
    sums.wall += reached - trace.ops.start[ops.front()];
  }
  return sums;
}

int64_t peak_memory(const store::Trace& trace) {
  struct Event {
    int64_t time;
    int64_t delta;
  };
  std::vector<Event> events;
  std::map<std::pair<int64_t, uint64_t>, int64_t> live;
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const std::string_view name = trace.str(trace.apis.name[row]);
    const bool frees = name == "hipFree" || name == "cudaFree";
    if (!frees && name != "hipMalloc" && name != "cudaMalloc" && name != "hipMallocAsync" && name != "hipMallocManaged") continue;
    const std::optional<uint64_t> pointer = parse_number(find_arg(trace.args(row), "ptr"));
    if (!pointer || *pointer == 0) continue;
    const std::pair key{trace.threads[trace.apis.thread[row]].pid, *pointer};
    if (frees) {
      if (const auto found = live.find(key); found != live.end()) {
        events.push_back({trace.apis.start[row], -found->second});
        live.erase(found);
      }
    } else if (const std::optional<uint64_t> size = parse_number(find_arg(trace.args(row), "size"))) {
      live[key] = static_cast<int64_t>(*size);
      events.push_back({trace.apis.end[row], static_cast<int64_t>(*size)});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  int64_t held = 0, peak = 0;
  for (const Event& event : events) peak = std::max(peak, held += event.delta);
  return peak;
}

}  // namespace

Report build_report(const store::Trace& trace, const Options& options, ReportBy by) {
  Report report;
  report.analysis = "report";
  report.warnings = trace_warnings(trace);
  const Span span = trace_span(trace);
  const OpKinds kinds(trace);
  const store::Str marker = trace.strings.find("UserMarker");
  std::vector<uint32_t> api_of_op(trace.ops.size(), kNoRow);
  for (size_t i = 0; i < trace.links.size(); ++i)
    if (trace.links.op[i] != kNoRow) api_of_op[trace.links.op[i]] = trace.links.api[i];

  Durations kernels, calls, markers;
  std::map<int32_t, Device> devices;
  int64_t dispatches = 0, copies = 0, marker_rows = 0;
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
  store::Strings marker_texts;
  for (size_t row = 0; row < trace.apis.size(); ++row) {
    const int64_t ns = trace.apis.end[row] - trace.apis.start[row];
    if (trace.apis.name[row] == marker) {
      ++marker_rows;
      markers.add(marker_texts.intern(trace.args(row)), ns);
    } else {
      calls.add(trace.apis.name[row], ns);
    }
  }

  // --- The head: what ran, for how long.
  Table gpus = device_table(devices, span);
  int64_t bytes = 0;
  for (const store::Copy& copy : trace.copies) bytes += copy.size_bytes;
  report.facts.push_back({"wall_ns", "wall time", Unit::kNs, span.length()});
  report.facts.push_back({"calls", "calls", Unit::kCount, static_cast<int64_t>(trace.apis.size()) - marker_rows});
  report.facts.push_back({"dispatches", "kernels run", Unit::kCount, dispatches});
  report.facts.push_back({"copies", "copies and fills", Unit::kCount, copies});
  report.facts.push_back({"bytes_copied", "bytes copied", Unit::kBytes, bytes});
  if (const int64_t peak = peak_memory(trace); peak > 0)
    report.facts.push_back({"peak_memory_bytes", "device memory at its peak", Unit::kBytes, peak});

  const HostBound bound = host_bound(trace, api_of_op);
  if (bound.wall > 0) {
    const double late = static_cast<double>(bound.host_late) / static_cast<double>(bound.wall);
    report.facts.push_back({"host_late_share", "GPU waited for the host", Unit::kShare, late});
    report.facts.push_back({"verdict", "verdict", Unit::kText,
                            std::string(late > 0.3                                                        ? "launch-bound: the host hands out work too slowly"
                                        : static_cast<double>(bound.idle) / static_cast<double>(bound.wall) > 0.3 ? "the GPU idles for other reasons; see `wavetap analyze gaps`"
                                                                                                          : "GPU-bound: kernels and copies fill the time")});
  }
  if (trace.is_emulated())
    report.facts.push_back({"emulated", "GPU", Unit::kText, std::string("virtual: times are those of the emulation, not of hardware")});
  if (dispatches == 0)
    report.warnings.insert(report.warnings.begin(),
                           trace.ops.size() == 0 ? "nothing ran on a GPU in this trace: no kernel, no copy"
                                                 : "no kernel ran on a GPU in this trace, only copies and fills");

  // --- The tables.
  Options top = options;
  if (by == ReportBy::kOverview) {
    report.tables.push_back(std::move(gpus));
    if (options.top == 0 || options.top > 10) top.top = options.top == 0 ? 0 : 10;
  }
  if (by == ReportBy::kOverview || by == ReportBy::kKernel)
    report.tables.push_back(kernels.table(trace, "kernels", "Kernels by total time", "KERNEL", top, Unit::kKernel));
  if (by == ReportBy::kOverview || by == ReportBy::kApi)
    report.tables.push_back(calls.table(trace, "calls", "Calls by total time", "CALL", top));
  if (by == ReportBy::kOverview && copies > 0) report.tables.push_back(copy_table(trace, kinds, api_of_op));
  if ((by == ReportBy::kOverview && marker_rows > 0) || by == ReportBy::kMarker) {
    store::Trace texts;
    texts.strings = std::move(marker_texts);
    report.tables.push_back(markers.table(texts, "markers", "Markers by total time", "MARKER", top));
  }
  if (by == ReportBy::kStream) {
    Result<Report> streams = find_analysis("streams")->run(trace, options);
    if (streams.ok()) report.tables.push_back(std::move(streams->tables.front()));
  }
  return report;
}

}  // namespace wavetap::analysis
