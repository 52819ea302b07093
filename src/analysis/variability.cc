// variability: which kernels cost more than they need to, and where the GPU waited between them.
//
// Kernels are grouped by the sequence they appear in (a kernel after the same predecessors does the
// same job), so that a slow instance stands out against its own kind and not against every use of
// the kernel. The gap before each op is binned and reported as if it were a kernel. VarSum, (mean -
// min) * calls, is the time that would be saved if every instance ran as fast as the fastest.
//
// The method is raptor's, with its slips put right: predecessors are those on the same GPU, times
// given with a unit mean that unit, and variance is in the unit its column says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/analysis.h"
#include "analysis/op_kind.h"
#include "analysis/stats.h"
#include "analysis/time_spec.h"
#include "util/file.h"
#include "util/pattern.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

constexpr const char* kIdle = "_GPU_Idle";
constexpr const char* kOther = "_Other";

struct Category {
  std::string name;
  std::vector<std::regex> patterns;
};

struct Settings {
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  int sequence = 2;         // predecessors that make up a kernel's context, itself included
  double z_threshold = -1;  // off
  int32_t gpu = -1;
  std::vector<int64_t> gap_us = {10, 20, 50, 100, 1000, 10000, 100000};
  std::vector<Category> categories;
};

struct Item {
  uint32_t op = 0;
  int64_t duration = 0;
  int64_t gap = -1;  // before it on its GPU; -1 for the first
};

struct Group {
  std::vector<uint32_t> items;
};

const char* const kDefaultCategories = R"json({
  "_Collective": ["ccl", "AllReduce", "AllGather", "ReduceScatter"],
  "GEMM": ["^Cijk_", "gemm", "Gemm", "wvSplt", "matmul"],
  "Attention": ["attn", "Attention", "fmha", "flash"],
  "Copy": ["^Copy", "^Memcpy", "copy_kernel", "CatArray"],
  "Normalisation": ["norm", "Norm"],
  "Elementwise": ["elementwise", "vectorized"]
})json";

Result<std::vector<Category>> parse_categories(const std::string& text, const std::string& origin) {
  const nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return errorf("%s: not a JSON object; write {\"name\": [\"regex\", ...]}", origin.c_str());
  std::vector<Category> out;
  for (const auto& [name, patterns] : json.items()) {
    Category category{name, {}};
    if (!patterns.is_array())
      return errorf("%s: category %s is no list; write {\"name\": [\"regex\", ...]}",
                    origin.c_str(), name.c_str());
    for (const auto& pattern : patterns) {
      if (!pattern.is_string())
        return errorf("%s: category %s holds something that is no text", origin.c_str(),
                      name.c_str());
      Result<std::regex> compiled = util::compile_pattern(pattern.get<std::string>());
      if (!compiled.ok()) return errorf("%s: %s", origin.c_str(), compiled.error().message.c_str());
      category.patterns.push_back(std::move(*compiled));
    }
    out.push_back(std::move(category));
  }
  return out;
}

Result<Settings> read_settings(const store::Trace& trace, const Options& options) {
  Settings settings;
  const Span span = trace_span(trace);
  const auto text = [&](const char* key) {
    const auto found = options.settings.find(key);
    return found == options.settings.end() ? std::string() : found->second;
  };
  // A bound is a time, or a regular expression: the start of the first kernel it matches.
  const auto bound = [&](const std::string& given, int64_t& out) -> Status {
    if (given.empty()) return {};
    if (Result<int64_t> time = parse_time(given, span); time.ok()) {
      out = *time;
      return {};
    }
    const Result<std::regex> pattern = util::compile_pattern(given);
    if (!pattern.ok()) return errorf("%s: neither a time nor a regular expression", given.c_str());
    int64_t first = std::numeric_limits<int64_t>::max();
    for (size_t op = 0; op < trace.ops.size(); ++op)
      if (trace.ops.start[op] < first && util::is_found(*pattern, trace.str(trace.ops.name(op))))
        first = trace.ops.start[op];
    if (first == std::numeric_limits<int64_t>::max())
      return errorf("%s: matches no kernel of the trace; give %s, or a kernel's name",
                    given.c_str(), kTimeSpecHelp);
    out = first;
    return {};
  };
  if (Status s = bound(text("roi-start"), settings.begin); !s.ok()) return s.error();
  if (Status s = bound(text("roi-end"), settings.end); !s.ok()) return s.error();
  if (const std::string given = text("sequence"); !given.empty())
    settings.sequence = std::clamp(std::atoi(given.c_str()), 1, 16);
  if (const std::string given = text("zscore"); !given.empty())
    settings.z_threshold = std::strtod(given.c_str(), nullptr);
  if (const std::string given = text("gpu"); !given.empty())
    settings.gpu = std::atoi(given.c_str());
  if (const std::string given = text("gaps"); !given.empty()) {
    settings.gap_us.clear();
    for (const std::string& part : util::split(given, ','))
      settings.gap_us.push_back(std::atoll(part.c_str()));
    if (!std::is_sorted(settings.gap_us.begin(), settings.gap_us.end()))
      return errorf("gaps=%s: not ascending; give microseconds such as gaps=10,100,1000",
                    given.c_str());
  }
  std::string categories = kDefaultCategories, origin = "built-in categories";
  if (const std::string path = text("categories"); !path.empty()) {
    Result<std::vector<std::byte>> file = util::read_file(path);
    if (!file.ok()) return file.error();
    categories.assign(reinterpret_cast<const char*>(file->data()), file->size());
    origin = path;
  }
  Result<std::vector<Category>> parsed = parse_categories(categories, origin);
  if (!parsed.ok()) return parsed.error();
  settings.categories = std::move(*parsed);
  return settings;
}

std::vector<Item> select_items(const store::Trace& trace, const Settings& settings) {
  const OpKinds kinds(trace);
  std::vector<Item> items;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (settings.gpu >= 0 && trace.ops.gpu[op] != settings.gpu) continue;
    if (trace.ops.start[op] < settings.begin || trace.ops.start[op] > settings.end) continue;
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

std::string category_of(const Settings& settings, std::string_view kernel) {
  std::string found = kOther;
  for (const Category& category : settings.categories)
    for (const std::regex& pattern : category.patterns)
      if (util::is_found(pattern, kernel)) found = category.name;
  return found;
}

std::string gap_name(const std::vector<int64_t>& bounds, size_t bin) {
  if (bin == 0) return "GAP <=" + std::to_string(bounds[0]) + "us";
  if (bin == bounds.size()) return "GAP >" + std::to_string(bounds.back()) + "us";
  return "GAP " + std::to_string(bounds[bin - 1]) + "us-" + std::to_string(bounds[bin]) + "us";
}

Result<Report> run(const store::Trace& trace, const Options& options) {
  Result<Settings> settings = read_settings(trace, options);
  if (!settings.ok()) return settings.error();
  const std::vector<Item> items = select_items(trace, *settings);

  // Groups keep the order of first appearance.
  std::map<std::vector<store::Str>, size_t> group_of;
  std::vector<Group> groups;
  std::vector<std::vector<store::Str>> keys;
  uint64_t without_context = 0;
  for (uint32_t i = 0; i < items.size(); ++i) {
    std::vector<store::Str> key;
    for (int back = 0; back < settings->sequence; ++back) {
      if (i < static_cast<uint32_t>(back) ||
          trace.ops.gpu[items[i - static_cast<uint32_t>(back)].op] != trace.ops.gpu[items[i].op])
        break;
      key.push_back(trace.ops.name(items[i - static_cast<uint32_t>(back)].op));
    }
    if (key.size() < static_cast<size_t>(settings->sequence)) {
      ++without_context;
      continue;
    }
    const auto [it, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.emplace_back(), keys.push_back(key);
    groups[it->second].items.push_back(i);
  }

  struct Row {
    std::string name, after, category;
    int64_t calls = 0, total = 0, min = 0, max = 0, outliers = 0, gap_total = 0, saved = 0;
    double mean = 0, deviation = 0;
  };
  std::vector<Row> rows;
  std::vector<std::vector<int64_t>> gap_bins(settings->gap_us.size() + 1);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<int64_t> durations;
    Row row;
    row.name = trace.str(keys[g][0]);
    if (keys[g].size() > 1) row.after = trace.str(keys[g][1]);
    row.category = category_of(*settings, row.name);
    double mean = 0, squares = 0;
    for (const uint32_t i : groups[g].items) mean += static_cast<double>(items[i].duration);
    mean /= static_cast<double>(groups[g].items.size());
    for (const uint32_t i : groups[g].items)
      squares += std::pow(static_cast<double>(items[i].duration) - mean, 2);
    const double population = std::sqrt(squares / static_cast<double>(groups[g].items.size()));
    for (const uint32_t i : groups[g].items) {
      const double z =
          population > 0 ? (static_cast<double>(items[i].duration) - mean) / population : 0;
      if (settings->z_threshold >= 0 && std::fabs(z) >= settings->z_threshold) {
        ++row.outliers;
        continue;
      }
      durations.push_back(items[i].duration);
      if (items[i].gap >= 0) {
        row.gap_total += items[i].gap;
        size_t bin = 0;
        while (bin < settings->gap_us.size() && items[i].gap > settings->gap_us[bin] * 1000) ++bin;
        if (items[i].gap > 0) gap_bins[bin].push_back(items[i].gap);
      }
    }
    if (durations.empty()) continue;
    row.calls = static_cast<int64_t>(durations.size());
    for (const int64_t d : durations) row.total += d;
    row.min = *std::min_element(durations.begin(), durations.end());
    row.max = *std::max_element(durations.begin(), durations.end());
    row.mean = static_cast<double>(row.total) / static_cast<double>(row.calls);
    row.deviation = standard_deviation(durations);
    row.saved = static_cast<int64_t>((row.mean - static_cast<double>(row.min)) *
                                     static_cast<double>(row.calls));
    rows.push_back(std::move(row));
  }
  for (size_t bin = 0; bin < gap_bins.size(); ++bin) {
    if (gap_bins[bin].empty()) continue;
    Row row;
    row.name = gap_name(settings->gap_us, bin);
    row.category = kIdle;
    row.calls = static_cast<int64_t>(gap_bins[bin].size());
    for (const int64_t gap : gap_bins[bin]) row.total += gap;
    row.min = *std::min_element(gap_bins[bin].begin(), gap_bins[bin].end());
    row.max = *std::max_element(gap_bins[bin].begin(), gap_bins[bin].end());
    row.mean = static_cast<double>(row.total) / static_cast<double>(row.calls);
    row.deviation = standard_deviation(gap_bins[bin]);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.total > b.total; });

  int64_t total = 0, saved_in_collectives = 0, saved_elsewhere = 0;
  struct Sums {
    int64_t kernels = 0, calls = 0, total = 0, saved = 0;
  };
  std::map<std::string, Sums> by_category;
  for (const Row& row : rows) {
    total += row.total;
    (row.category == "_Collective" ? saved_in_collectives : saved_elsewhere) += row.saved;
    Sums& sums = by_category[row.category];
    ++sums.kernels;
    sums.calls += row.calls;
    sums.total += row.total;
    sums.saved += row.saved;
  }
  const auto share = [&](int64_t part) {
    return total > 0 ? static_cast<double>(part) / static_cast<double>(total) : 0.0;
  };

  Report report;
  report.facts.push_back({"total_ns", "kernels and gaps", Unit::kNs, total});
  report.facts.push_back({"variability_collectives_ns", "lost to variability, collectives",
                          Unit::kNs, saved_in_collectives});
  report.facts.push_back(
      {"variability_other_ns", "lost to variability, others", Unit::kNs, saved_elsewhere});
  report.facts.push_back({"variability_share", "share of the time", Unit::kShare,
                          share(saved_in_collectives + saved_elsewhere)});
  Table categories{"categories",
                   "By category",
                   {{"category", "CATEGORY"},
                    {"kernels", "KINDS", Unit::kCount},
                    {"calls", "CALLS", Unit::kCount},
                    {"total_ns", "TOTAL", Unit::kNs},
                    {"mean_ns", "MEAN", Unit::kNs},
                    {"variability_ns", "VARSUM", Unit::kNs},
                    {"share", "SHARE", Unit::kShare}},
                   {},
                   0};
  for (const auto& [name, s] : by_category)
    categories.rows.push_back({name, s.kernels, s.calls, s.total, s.total / s.calls,
                               name == kIdle ? Cell() : Cell(s.saved), share(s.total)});
  std::stable_sort(categories.rows.begin(), categories.rows.end(),
                   [](const auto& a, const auto& b) {
                     return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
                   });
  report.tables.push_back(std::move(categories));
  Table table{"sequences",
              "Kernels in their context, and gaps",
              {{"kernel", "KERNEL", Unit::kKernel},
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
               {"share", "SHARE", Unit::kShare}},
              {},
              0};
  for (const Row& row : rows)
    table.rows.push_back({row.name, row.after, row.category, row.calls, row.total, row.min,
                          row.mean, row.max, row.deviation,
                          row.category == kIdle ? Cell() : Cell(row.saved), row.gap_total,
                          row.outliers, share(row.total)});
  cut_to_top(table, options);
  report.tables.push_back(std::move(table));
  if (without_context > 0)
    report.notes.push_back(util::count_of(static_cast<uint64_t>(without_context), "op") +
                           " at the start of a GPU's list without full context, left out");
  report.notes.push_back(
      "VARSUM is (mean - min) * calls: what equal speed would save; it is a bound, not a promise");
  return report;
}

}  // namespace

extern const Analysis kVariability{"variability",
                                   "kernel sequences, their spread, gaps between them, outliers",
                                   "sequence: kernels that make a context (2); gaps: bin bounds in "
                                   "us (10,20,50,100,1000,10000,100000); "
                                   "zscore: drop instances this many deviations off; categories: "
                                   "JSON file {name: [regex]}; gpu: one GPU "
                                   "only; "
                                   "roi-start: and roi-end: a time or a kernel's regex",
                                   false,
                                   false,
                                   run};

}  // namespace wavetap::analysis
