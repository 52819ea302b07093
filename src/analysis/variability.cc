// variability: which kernels cost more than they need to, and where the GPU waited between them.
//
// Kernels are grouped by the sequence they appear in (a kernel after the same predecessors does the
// same job), so that a slow instance stands out against its own kind and not against every use of
// the kernel. The gap before each op is binned and reported as if it were a kernel. VarSum, (mean -
// min) * calls, is the time that would be saved if every instance ran as fast as the fastest.
//
// The method is raptor's with its slips corrected: predecessors are those on the same GPU, times
// given with a unit mean that unit, and variance is in the unit its column says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/analysis.h"
#include "analysis/kernel_category.h"
#include "analysis/op_kind.h"
#include "analysis/stats.h"
#include "analysis/time_spec.h"
#include "util/pattern.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

constexpr const char* kIdle = "_GPU_Idle";

constexpr Setting kSequence{.name = "sequence",
                            .kind = SettingKind::kWhole,
                            .fallback = "2",
                            .help = "kernels that make a context",
                            .least = 1,
                            .most = 16};
constexpr Setting kGapBounds{.name = "gaps",
                             .kind = SettingKind::kBounds,
                             .fallback = "10,20,50,100,1000,10000,100000",
                             .help = "bounds of the bins of gaps, in us",
                             .least = 0};
constexpr Setting kZScore{.name = "zscore",
                          .kind = SettingKind::kReal,
                          .help = "drop instances this many deviations off the mean",
                          .least = 0.1};
constexpr Setting kCategories{
    .name = "categories", .help = "JSON file {name: [regex]}", .value = "FILE"};
constexpr Setting kGpu{
    .name = "gpu", .kind = SettingKind::kWhole, .help = "one GPU only", .least = 0};
constexpr Setting kRoiStart{.name = "roi-start",
                            .help = "from a time or the first kernel a regex finds",
                            .value = "TIME|REGEX"};
constexpr Setting kRoiEnd{.name = "roi-end",
                          .help = "up to a time or the first kernel a regex finds",
                          .value = "TIME|REGEX"};
constexpr Setting kVariabilitySettings[] = {kSequence, kGapBounds, kZScore, kCategories,
                                            kGpu,      kRoiStart,  kRoiEnd};

// What the settings mean for this trace.
struct Choice {
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  size_t sequence = 0;                // kernels of a context
  std::optional<double> z_threshold;  // none: keep all
  std::optional<int64_t> gpu;         // none: all
  std::vector<int64_t> gap_us;
  KernelCategories categories;
};

struct Item {
  uint32_t op = 0;
  int64_t duration = 0;
  int64_t gap = -1;  // before it on its GPU; -1 for the first
};

// A bound is a time, or a regular expression: the start of the first kernel it matches.
Result<int64_t> read_bound(const store::Trace& trace, const std::string& given) {
  if (Result<int64_t> time = parse_time(given, trace_span(trace)); time.ok()) return time;
  const Result<util::Pattern> pattern = util::compile_pattern(given);
  if (!pattern.ok()) return errorf("%s: neither a time nor a regular expression", given.c_str());
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t first = kNone;
  for (size_t op = 0; op < trace.ops.size(); ++op)
    if (trace.ops.start[op] < first && util::is_found(*pattern, trace.str(trace.ops.name(op))))
      first = trace.ops.start[op];
  if (first == kNone)
    return errorf("%s: matches no kernel of the trace; give %s, or a kernel's name", given.c_str(),
                  kTimeSpecHelp);
  return first;
}

Status check_gpu(const store::Trace& trace, int64_t gpu) {
  const std::set<int32_t> gpus(trace.ops.gpu.begin(), trace.ops.gpu.end());
  std::vector<std::string> names;
  for (const int32_t id : gpus) {
    if (id == gpu) return {};
    names.push_back(std::to_string(id));
  }
  return errorf("gpu=%lld: nothing ran on it; the trace has %s", static_cast<long long>(gpu),
                names.empty() ? "no GPU work" : ("GPU " + util::join(names, ", ")).c_str());
}

Result<Choice> read_settings(const store::Trace& trace, const Settings& settings) {
  Choice choice;
  for (const auto& [setting, bound] :
       {std::pair(&kRoiStart, &choice.begin), std::pair(&kRoiEnd, &choice.end)}) {
    if (!settings.has(*setting)) continue;
    const Result<int64_t> time = read_bound(trace, settings.text(*setting));
    if (!time.ok()) return time.error();
    *bound = *time;
  }
  if (choice.end < choice.begin)
    return errorf("roi-end=%s: lies before roi-start; give a later one",
                  settings.text(kRoiEnd).c_str());
  choice.sequence = static_cast<size_t>(settings.whole(kSequence));
  if (settings.has(kZScore)) choice.z_threshold = settings.real(kZScore);
  if (settings.has(kGpu)) {
    choice.gpu = settings.whole(kGpu);
    if (Status s = check_gpu(trace, *choice.gpu); !s.ok()) return s.error();
  }
  choice.gap_us = settings.bounds(kGapBounds);
  Result<KernelCategories> categories = settings.has(kCategories)
                                            ? KernelCategories::load(settings.text(kCategories))
                                            : KernelCategories::built_in();
  if (!categories.ok()) return categories.error();
  choice.categories = std::move(*categories);
  return choice;
}

// Kernels and copies on the device, by GPU and time, each with the gap before it.
std::vector<Item> select_items(const store::Trace& trace, const Choice& choice) {
  const OpKinds kinds(trace);
  std::vector<Item> items;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (choice.gpu && trace.ops.gpu[op] != *choice.gpu) continue;
    if (trace.ops.start[op] < choice.begin || trace.ops.start[op] > choice.end) continue;
    const bool device_copy = trace.str(trace.ops.type[op]) == "CopyDeviceToDevice";
    if (kinds[op] != OpKind::kKernel && !device_copy) continue;
    items.push_back({op, std::max<int64_t>(0, trace.ops.end[op] - trace.ops.start[op]), -1});
  }
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    return std::pair(trace.ops.gpu[a.op], trace.ops.start[a.op]) <
           std::pair(trace.ops.gpu[b.op], trace.ops.start[b.op]);
  });
  int64_t reached = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t op = items[i].op;
    if (i == 0 || trace.ops.gpu[items[i - 1].op] != trace.ops.gpu[op]) {
      reached = trace.ops.end[op];
      continue;
    }
    items[i].gap = std::max<int64_t>(0, trace.ops.start[op] - reached);
    reached = std::max(reached, trace.ops.end[op]);
  }
  return items;
}

std::string gap_name(const std::vector<int64_t>& bounds, size_t bin) {
  if (bin == 0) return "GAP <=" + std::to_string(bounds[0]) + "us";
  if (bin == bounds.size()) return "GAP >" + std::to_string(bounds.back()) + "us";
  return "GAP " + std::to_string(bounds[bin - 1]) + "us-" + std::to_string(bounds[bin]) + "us";
}

// Items with the same name after the same predecessors.
struct Group {
  std::vector<store::Str> names;  // its own, then those before it
  std::vector<uint32_t> items;
};

struct VariabilityGroups {
  std::vector<Group> groups;     // in the order of first appearance
  uint64_t without_context = 0;  // items too early for a full context
};

VariabilityGroups group_items(const store::Trace& trace, const std::vector<Item>& items,
                              size_t sequence) {
  VariabilityGroups out;
  std::map<std::vector<store::Str>, size_t> group_of;
  for (uint32_t i = 0; i < items.size(); ++i) {
    std::vector<store::Str> names;
    for (uint32_t back = 0; back < sequence && back <= i; ++back) {
      if (trace.ops.gpu[items[i - back].op] != trace.ops.gpu[items[i].op]) break;
      names.push_back(trace.ops.name(items[i - back].op));
    }
    if (names.size() < sequence) {
      ++out.without_context;
      continue;
    }
    const auto [it, is_new] = group_of.emplace(names, out.groups.size());
    if (is_new) out.groups.push_back({std::move(names), {}});
    out.groups[it->second].items.push_back(i);
  }
  return out;
}

// Of a group, or of a bin of gaps.
struct Row {
  std::string name, after, category;
  int64_t calls = 0, total = 0, min = 0, max = 0, outliers = 0, gap_total = 0, saved = 0;
  double mean = 0, deviation = 0;
};

void summarise(const std::vector<int64_t>& values, Row& row) {
  row.calls = static_cast<int64_t>(values.size());
  for (const int64_t value : values) row.total += value;
  row.min = *std::min_element(values.begin(), values.end());
  row.max = *std::max_element(values.begin(), values.end());
  row.mean = static_cast<double>(row.total) / static_cast<double>(row.calls);
  row.deviation = standard_deviation(values);
}

// How far durations lie from the mean of their group.
struct Spread {
  double mean = 0, deviation = 0;
  double z(int64_t value) const {
    return deviation > 0 ? (static_cast<double>(value) - mean) / deviation : 0;
  }
};

Spread spread_of(const std::vector<Item>& items, const Group& group) {
  Spread spread;
  const auto count = static_cast<double>(group.items.size());
  double squares = 0;
  for (const uint32_t i : group.items) spread.mean += static_cast<double>(items[i].duration);
  spread.mean /= count;
  for (const uint32_t i : group.items)
    squares += std::pow(static_cast<double>(items[i].duration) - spread.mean, 2);
  spread.deviation = std::sqrt(squares / count);
  return spread;
}

// The row of a group; its gaps go into their bins. No calls: all of it were outliers.
Row row_of(const store::Trace& trace, const Choice& choice, const std::vector<Item>& items,
           const Group& group, std::vector<std::vector<int64_t>>& gap_bins) {
  Row row;
  row.name = trace.str(group.names[0]);
  if (group.names.size() > 1) row.after = trace.str(group.names[1]);
  row.category = choice.categories.find(row.name);
  const Spread spread = spread_of(items, group);
  std::vector<int64_t> durations;
  for (const uint32_t i : group.items) {
    const Item& item = items[i];
    if (choice.z_threshold && std::fabs(spread.z(item.duration)) >= *choice.z_threshold) {
      ++row.outliers;
      continue;
    }
    durations.push_back(item.duration);
    if (item.gap <= 0) continue;
    row.gap_total += item.gap;
    size_t bin = 0;
    while (bin < choice.gap_us.size() && (item.gap - 1) / 1000 >= choice.gap_us[bin]) ++bin;
    gap_bins[bin].push_back(item.gap);
  }
  if (durations.empty()) return row;
  summarise(durations, row);
  row.saved = static_cast<int64_t>((row.mean - static_cast<double>(row.min)) *
                                   static_cast<double>(row.calls));
  return row;
}

// Groups and gaps, most time first.
std::vector<Row> make_rows(const store::Trace& trace, const Choice& choice,
                           const std::vector<Item>& items, const std::vector<Group>& groups) {
  std::vector<Row> rows;
  std::vector<std::vector<int64_t>> gap_bins(choice.gap_us.size() + 1);
  for (const Group& group : groups)
    if (Row row = row_of(trace, choice, items, group, gap_bins); row.calls > 0)
      rows.push_back(std::move(row));
  for (size_t bin = 0; bin < gap_bins.size(); ++bin) {
    if (gap_bins[bin].empty()) continue;
    Row row;
    row.name = gap_name(choice.gap_us, bin);
    row.category = kIdle;
    summarise(gap_bins[bin], row);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.total > b.total; });
  return rows;
}

Table category_table(const std::vector<Row>& rows, int64_t total) {
  struct Sums {
    int64_t kernels = 0, calls = 0, total = 0, saved = 0;
  };
  std::map<std::string, Sums> by_category;
  for (const Row& row : rows) {
    Sums& sums = by_category[row.category];
    ++sums.kernels;
    sums.calls += row.calls;
    sums.total += row.total;
    sums.saved += row.saved;
  }
  Table table{.name = "categories",
              .title = "By category",
              .columns = {{"category", "CATEGORY"},
                          {"kernels", "KINDS", Unit::kCount},
                          {"calls", "CALLS", Unit::kCount},
                          {"total_ns", "TOTAL", Unit::kNs},
                          {"mean_ns", "MEAN", Unit::kNs},
                          {"variability_ns", "VARSUM", Unit::kNs},
                          {"share", "SHARE", Unit::kShare}}};
  for (const auto& [name, s] : by_category)
    table.rows.push_back({name, s.kernels, s.calls, s.total, s.total / s.calls,
                          name == kIdle ? Cell() : Cell(s.saved), share_of(s.total, total)});
  sort_rows(table, 3);
  return table;
}

Table sequence_table(const std::vector<Row>& rows, int64_t total, const Options& options) {
  Table table{.name = "sequences",
              .title = "Kernels in their context, and gaps",
              .columns = {{"kernel", "KERNEL", Unit::kKernel},
                          {"after", "AFTER", Unit::kKernel},
                          {"category", "CATEGORY", Unit::kText, true},
                          {"calls", "CALLS", Unit::kCount},
                          {"total_ns", "TOTAL", Unit::kNs},
                          {"min_ns", "MIN", Unit::kNs, true},
                          {"mean_ns", "MEAN", Unit::kNs},
                          {"max_ns", "MAX", Unit::kNs},
                          {"deviation_ns", "STD", Unit::kNs, true},
                          {"variability_ns", "VARSUM", Unit::kNs},
                          {"gap_ns", "GAP BEFORE", Unit::kNs, true},
                          {"outliers", "OUT", Unit::kCount, true},
                          {"share", "SHARE", Unit::kShare}}};
  for (const Row& row : rows)
    table.rows.push_back({row.name, row.after, row.category, row.calls, row.total, row.min,
                          row.mean, row.max, row.deviation,
                          row.category == kIdle ? Cell() : Cell(row.saved), row.gap_total,
                          row.outliers, share_of(row.total, total)});
  cut_to_top(table, options);
  return table;
}

std::vector<Fact> facts_of(const std::vector<Row>& rows, int64_t total) {
  int64_t collectives = 0, others = 0;
  for (const Row& row : rows)
    (row.category == KernelCategories::kCollective ? collectives : others) += row.saved;
  return {
      {"total_ns", "kernels and gaps", Unit::kNs, total},
      {"variability_collectives_ns", "lost to variability, collectives", Unit::kNs, collectives},
      {"variability_other_ns", "lost to variability, others", Unit::kNs, others},
      {"variability_share", "share of the time", Unit::kShare,
       share_of(collectives + others, total)}};
}

Result<Report> analyze_variability(const store::Trace& trace, const Options& options) {
  const Result<Choice> choice = read_settings(trace, options.settings);
  if (!choice.ok()) return choice.error();
  const std::vector<Item> items = select_items(trace, *choice);
  const VariabilityGroups found = group_items(trace, items, choice->sequence);
  const std::vector<Row> rows = make_rows(trace, *choice, items, found.groups);
  int64_t total = 0;
  for (const Row& row : rows) total += row.total;

  Report report;
  report.facts = facts_of(rows, total);
  report.tables.push_back(category_table(rows, total));
  report.tables.push_back(sequence_table(rows, total, options));
  if (found.without_context > 0)
    report.notes.push_back(util::count_of(found.without_context, "op") +
                           " at the start of a GPU's list without full context, left out");
  report.notes.push_back(
      "VARSUM is (mean - min) * calls: what equal speed would save; it is a bound, not a promise");
  return report;
}

}  // namespace

extern const Analysis kVariability{
    .name = "variability",
    .help = "kernel sequences, their spread, gaps between them, outliers",
    .settings = kVariabilitySettings,
    .run = analyze_variability};

}  // namespace wavetap::analysis
