// diff: kernels and calls of two traces, matched by name. A change counts when it exceeds the noise
// within the runs: twice the standard error of the difference of the means. One call on each side
// has no spread, so such a change is shown and never called significant.
#include "analysis/diff.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/op_kind.h"
#include "analysis/stats.h"

namespace wavetap::analysis {
namespace {

struct Samples {
  std::vector<int64_t> a, b;
};

double mean(const std::vector<int64_t>& values) {
  double sum = 0;
  for (const int64_t v : values) sum += static_cast<double>(v);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

int64_t total(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t v : values) sum += v;
  return sum;
}

struct Change {
  double share = 0;  // of the mean, b relative to a
  double noise = 0;  // bound of what chance explains, likewise
  const char* verdict = "same";
};

Change compare(const Samples& samples) {
  Change change;
  if (samples.a.empty()) return {0, 0, "new"};
  if (samples.b.empty()) return {0, 0, "gone"};
  const double ma = mean(samples.a), mb = mean(samples.b);
  if (ma <= 0) return {0, 0, "same"};
  change.share = mb / ma - 1;
  if (samples.a.size() < 2 || samples.b.size() < 2) {
    change.noise = std::nan("");
    change.verdict = "one sample";
    return change;
  }
  const double va =
      std::pow(standard_deviation(samples.a), 2) / static_cast<double>(samples.a.size());
  const double vb =
      std::pow(standard_deviation(samples.b), 2) / static_cast<double>(samples.b.size());
  change.noise = 2 * std::sqrt(va + vb) / ma;
  if (std::fabs(change.share) > change.noise)
    change.verdict = change.share > 0 ? "slower" : "faster";
  return change;
}

using Groups = std::map<std::string, Samples>;

void collect_ops(const store::Trace& trace, bool by_sequence, std::vector<int64_t> Samples::*side,
                 Groups& groups) {
  std::vector<uint32_t> order(trace.ops.size());
  for (uint32_t op = 0; op < order.size(); ++op) order[op] = op;
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    return std::tuple(trace.ops.gpu[x], trace.ops.queue[x], trace.ops.start[x]) <
           std::tuple(trace.ops.gpu[y], trace.ops.queue[y], trace.ops.start[y]);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t op = order[i];
    std::string name(trace.str(trace.ops.name(op)));
    if (by_sequence && i > 0 && trace.ops.gpu[order[i - 1]] == trace.ops.gpu[op] &&
        trace.ops.queue[order[i - 1]] == trace.ops.queue[op])
      name += " <- " + std::string(trace.str(trace.ops.name(order[i - 1])));
    (groups[name].*side).push_back(trace.ops.end[op] - trace.ops.start[op]);
  }
}

void collect_calls(const store::Trace& trace, std::vector<int64_t> Samples::*side, Groups& groups) {
  const store::Str marker = trace.strings.find("UserMarker");
  for (size_t row = 0; row < trace.apis.size(); ++row)
    if (trace.apis.name[row] != marker)
      (groups[std::string(trace.str(trace.apis.name[row]))].*side)
          .push_back(trace.apis.end[row] - trace.apis.start[row]);
}

Table table_of(const Groups& groups, const char* key, const char* title, const char* what,
               const DiffOptions& options, bool& failed) {
  Table table{.name = key,
              .title = title,
              .columns = {{"name", what, Unit::kKernel},
                          {"calls_a", "A", Unit::kCount},
                          {"calls_b", "B", Unit::kCount},
                          {"mean_a_ns", "MEAN A", Unit::kNs},
                          {"mean_b_ns", "MEAN B", Unit::kNs},
                          {"change", "CHANGE", Unit::kShare},
                          {"noise", "NOISE ±", Unit::kShare},
                          {"total_change_ns", "TOTAL Δ", Unit::kNs},
                          {"verdict", "VERDICT"}}};
  int64_t all = 0;
  for (const auto& [name, samples] : groups) all += total(samples.a);
  for (const auto& [name, samples] : groups) {
    const Change change = compare(samples);
    // A regression of something that takes next to no time does not fail a build.
    if (options.fail_above >= 0 && std::string_view(change.verdict) == "slower" &&
        change.share > options.fail_above && total(samples.b) * 100 > all)
      failed = true;
    const bool both = !samples.a.empty() && !samples.b.empty();
    table.rows.push_back({name, static_cast<int64_t>(samples.a.size()),
                          static_cast<int64_t>(samples.b.size()), mean(samples.a), mean(samples.b),
                          both ? Cell(change.share) : Cell(),
                          both && std::isfinite(change.noise) ? Cell(change.noise) : Cell(),
                          total(samples.b) - total(samples.a), std::string(change.verdict)});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& x, const auto& y) {
    return std::llabs(std::get<int64_t>(x[7])) > std::llabs(std::get<int64_t>(y[7]));
  });
  Options top;
  top.top = options.top;
  cut_to_top(table, top);
  return table;
}

}  // namespace

DiffResult diff_traces(const store::Trace& a, const store::Trace& b, const DiffOptions& options) {
  DiffResult result;
  Report& report = result.report;
  report.analysis = "diff";
  Groups ops, calls;
  collect_ops(a, options.by_sequence, &Samples::a, ops);
  collect_ops(b, options.by_sequence, &Samples::b, ops);
  collect_calls(a, &Samples::a, calls);
  collect_calls(b, &Samples::b, calls);
  const int64_t wall_a = trace_span(a).length(), wall_b = trace_span(b).length();
  report.facts.push_back({"wall_a_ns", "wall time A", Unit::kNs, wall_a});
  report.facts.push_back({"wall_b_ns", "wall time B", Unit::kNs, wall_b});
  if (wall_a > 0)
    report.facts.push_back({"wall_change", "change", Unit::kShare,
                            static_cast<double>(wall_b) / static_cast<double>(wall_a) - 1});
  report.tables.push_back(
      table_of(ops, "ops", "GPU work, by change in total time", "OP", options, result.failed));
  bool ignored = false;
  report.tables.push_back(
      table_of(calls, "calls", "Calls, by change in total time", "CALL", options, ignored));
  if (a.is_emulated() != b.is_emulated())
    report.warnings.push_back(
        "one trace is of a virtual GPU and the other of hardware; their times do not compare");
  else if (a.is_emulated())
    report.warnings.push_back(
        "both traces are of a virtual GPU; a change in time says how the emulation fared, not the "
        "hardware");
  report.notes.push_back(
      "NOISE is twice the standard error of the difference; a change below it is called same");
  if (options.fail_above >= 0)
    report.notes.push_back(
        "fails when GPU work that takes over 1 % of the time got slower by more than the limit, "
        "beyond "
        "noise");
  return result;
}

}  // namespace wavetap::analysis
