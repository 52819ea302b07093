// callstack: where the time goes, by nesting. Inclusive time is a call with everything inside it,
// exclusive time is what it spent itself; GPU time is charged to the call that launched the work
// and, inclusively, to everything around it.
//
// --write stores the same as tables (callstack_tables.h).
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "analysis/analysis.h"
#include "analysis/callstack_tables.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct CallSums {
  int64_t calls = 0;
  int64_t cpu_inclusive = 0;
  int64_t cpu_exclusive = 0;
  int64_t gpu_inclusive = 0;
  int64_t gpu_exclusive = 0;
};

// Sums by name. A call is known by its function, a marker by its text; each is numbered when first
// met.
class SumsByName {
 public:
  explicit SumsByName(const store::Trace& trace)
      : trace_(trace),
        marker_(trace.strings.find("UserMarker")),
        of_function_(trace.strings.size(), kNoRow) {}

  CallSums& of(uint32_t row) {
    const store::Str name = trace_.apis.name[row];
    if (name == marker_ && !trace_.args(row).empty()) {
      const auto [it, is_new] = of_marker_.emplace(marker_label(trace_.args(row)), 0);
      if (is_new) it->second = number(it->first);
      return sums_[it->second];
    }
    if (of_function_[name] == kNoRow) of_function_[name] = number(trace_.str(name));
    return sums_[of_function_[name]];
  }

  // Names and sums, most inclusive CPU time first.
  std::vector<std::pair<std::string_view, CallSums>> sorted() const {
    std::vector<std::pair<std::string_view, CallSums>> out;
    for (size_t i = 0; i < names_.size(); ++i) out.emplace_back(names_[i], sums_[i]);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return std::pair(-a.second.cpu_inclusive, a.first) <
             std::pair(-b.second.cpu_inclusive, b.first);
    });
    return out;
  }

 private:
  uint32_t number(std::string_view name) {
    names_.push_back(name);
    sums_.emplace_back();
    return static_cast<uint32_t>(names_.size() - 1);
  }

  const store::Trace& trace_;
  const store::Str marker_;
  std::vector<std::string_view> names_;
  std::vector<CallSums> sums_;
  std::vector<uint32_t> of_function_;  // by Str
  std::unordered_map<std::string_view, uint32_t> of_marker_;
};

void add_tree(const store::Trace& trace, const CallTree& tree, SumsByName& by_name) {
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    CallSums& sums = by_name.of(row);
    ++sums.calls;
    sums.cpu_inclusive += std::max<int64_t>(0, trace.apis.end[row] - trace.apis.start[row]);
    sums.cpu_exclusive += tree.cpu_self[row];
    sums.gpu_inclusive += tree.gpu_total[row];
    sums.gpu_exclusive += tree.gpu_self[row];
  }
}

void add_rpd(const store::Trace& trace, SumsByName& by_name) {
  const CallTimes times = rpd_call_times(trace);
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    if (times.calls[row] == 0) continue;
    CallSums& sums = by_name.of(row);
    ++sums.calls;
    sums.cpu_inclusive += times.cpu_inclusive[row];
    sums.cpu_exclusive += times.cpu_exclusive[row];
    sums.gpu_inclusive += times.gpu_inclusive[row];
    sums.gpu_exclusive += times.gpu_exclusive[row];
  }
}

Table call_table(const SumsByName& by_name, const Options& options) {
  Table table{.name = "calls",
              .title = "Calls by inclusive CPU time",
              .columns = {{"name", "NAME", Unit::kText},
                          {"calls", "CALLS", Unit::kCount},
                          {"cpu_inclusive_ns", "CPU INCL", Unit::kNs},
                          {"cpu_exclusive_ns", "CPU EXCL", Unit::kNs},
                          {"gpu_inclusive_ns", "GPU INCL", Unit::kNs},
                          {"gpu_exclusive_ns", "GPU EXCL", Unit::kNs}}};
  for (const auto& [name, s] : by_name.sorted())
    table.rows.push_back({std::string(name), s.calls, s.cpu_inclusive, s.cpu_exclusive,
                          s.gpu_inclusive, s.gpu_exclusive});
  cut_to_top(table, options);
  return table;
}

Result<Report> analyze_callstack(const store::Trace& trace, const Options& options) {
  Report report;
  SumsByName by_name(trace);
  if (options.rpd_compatible) {
    add_rpd(trace, by_name);
  } else {
    const CallTree tree = build_call_tree(trace);
    add_tree(trace, tree, by_name);
    if (tree.crossing > 0)
      report.notes.push_back(
          util::count_of(tree.crossing, "call") +
          " overlapping a neighbour on the same thread without nesting: counted as siblings");
  }
  report.tables.push_back(call_table(by_name, options));
  if (trace.apis.size() == 0) report.notes.push_back("the trace holds no calls");
  report.notes.push_back(
      "calls of one thread nest by time alone; work handed to another thread is not followed");
  return report;
}

}  // namespace

extern const Analysis kCallstack{
    .name = "callstack",
    .help = "inclusive and exclusive CPU and GPU time of calls and markers",
    .needs_args = true,
    .run = analyze_callstack,
    .write = write_callstack};

}  // namespace wavetap::analysis
