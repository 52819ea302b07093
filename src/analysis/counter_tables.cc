#include "analysis/counter_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/op_counters.h"

namespace wavetap::analysis {
namespace {

// One counter over the dispatches of one kernel. A counted dispatch without it counted 0.
struct Sum {
  int64_t seen = 0;
  double total = 0, least = 0, most = 0;

  void add(double value) {
    least = seen == 0 ? value : std::min(least, value);
    most = seen == 0 ? value : std::max(most, value);
    total += value;
    ++seen;
  }
};

struct Kernel {
  int64_t dispatches = 0;  // counted ones
  int64_t ns = 0;
  std::map<store::Str, Sum> counters;
};

// Kernels that were counted, the longest-running first.
std::vector<std::pair<store::Str, Kernel>> counted_kernels(const store::Trace& trace) {
  const OpCounters counters(trace);
  std::map<store::Str, Kernel> by_name;
  for (size_t op = 0; counters.any() && op < trace.ops.size(); ++op) {
    const std::span<const store::Counter> of = counters.of(op);
    if (of.empty()) continue;
    Kernel& kernel = by_name[trace.ops.name(op)];
    ++kernel.dispatches;
    kernel.ns += trace.ops.end[op] - trace.ops.start[op];
    for (const store::Counter& counter : of) kernel.counters[counter.name].add(counter.value);
  }
  std::vector<std::pair<store::Str, Kernel>> kernels(by_name.begin(), by_name.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return kernels;
}

// The counters of one kernel by name: wavetap's, AMD's, and AMD's sums over instances.
class Means {
 public:
  Means(const store::Trace& trace, const Kernel& kernel) : trace_(trace), kernel_(kernel) {}

  // Of the first of these names that was counted.
  std::optional<double> first(std::initializer_list<const char*> names) const {
    for (const char* const name : names)
      if (const std::optional<double> value = mean(name)) return value;
    return std::nullopt;
  }
  // Of all that were counted; nothing when none was. wavetap counts all of its own, and keeps no zeros.
  std::optional<double> sum(std::initializer_list<const char*> names) const {
    std::optional<double> total;
    const bool is_modelled = std::string_view(*names.begin()).starts_with("modelled.");
    if (!is_modelled && mean("instructions")) total = 0;
    for (const char* const name : names)
      if (const std::optional<double> value = mean(name)) total = total.value_or(0) + *value;
    return total;
  }

 private:
  std::optional<double> mean(const char* name) const {
    const auto found = kernel_.counters.find(trace_.strings.find(name));
    if (found == kernel_.counters.end()) return std::nullopt;
    return found->second.total / static_cast<double>(kernel_.dispatches);
  }

  const store::Trace& trace_;
  const Kernel& kernel_;
};

Cell whole(const std::optional<double>& value) {
  return value ? Cell(static_cast<int64_t>(*value + 0.5)) : Cell();
}

// Counts are whole numbers, means of them often not.
Cell number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(value) <= kExact && value == std::trunc(value)) return static_cast<int64_t>(value);
  return value;
}

Cell share(const std::optional<double>& part, const std::optional<double>& rest) {
  if (!part && !rest) return {};
  const double all = part.value_or(0) + rest.value_or(0);
  return all > 0 ? Cell(part.value_or(0) / all) : Cell();
}

std::vector<Cell> figures(const store::Trace& trace, store::Str name, const Kernel& kernel) {
  const Means means(trace, kernel);
  return {
      std::string(trace.str(name)),
      kernel.dispatches,
      whole(means.first({"waves", "SQ_WAVES", "SQ_WAVES_sum"})),
      whole(means.first({"instructions", "SQ_INSTS", "SQ_INSTS_sum"})),
      whole(means.sum({"flops_f16", "flops_f32", "flops_f64", "flops_matrix"})),
      whole(means.sum({"bytes_global_load", "bytes_global_store", "bytes_global_atomic"})),
      whole(means.sum({"bytes_lds"})),
      share(means.first({"modelled.l2_hits", "TCC_HIT_sum", "TCC_HIT", "GL2C_HIT_sum", "GL2C_HIT"}),
            means.first(
                {"modelled.l2_misses", "TCC_MISS_sum", "TCC_MISS", "GL2C_MISS_sum", "GL2C_MISS"})),
      whole(means.sum({"modelled.dram_read_bytes", "modelled.dram_write_bytes"}))};
}

}  // namespace

Table counted_kernels_table(const store::Trace& trace, const Options& options) {
  Table table{.name = "counted_kernels",
              .title = "Counters of kernels, on average per dispatch (all: --by counter)",
              .columns = {{"name", "KERNEL", Unit::kKernel},
                          {"counted", "COUNTED", Unit::kCount},
                          {"waves", "WAVES", Unit::kCount},
                          {"instructions", "INSTRUCTIONS", Unit::kCount},
                          {"flops", "FLOPs", Unit::kCount, /*optional=*/true},
                          {"global_bytes", "GLOBAL", Unit::kBytes, /*optional=*/true},
                          {"lds_bytes", "LDS", Unit::kBytes, /*optional=*/true},
                          {"l2_hit_share", "L2 HIT", Unit::kShare, /*optional=*/true},
                          {"memory_bytes", "MEMORY", Unit::kBytes, /*optional=*/true}}};
  for (const auto& [name, kernel] : counted_kernels(trace))
    table.rows.push_back(figures(trace, name, kernel));
  cut_to_top(table, options);
  return table;
}

Table counters_table(const store::Trace& trace, const Options& options) {
  Table table{.name = "counters",
              .title = "Counters by kernel",
              .columns = {{"name", "KERNEL", Unit::kKernel},
                          {"counter", "COUNTER"},
                          {"counted", "COUNTED", Unit::kCount},
                          {"total", "TOTAL", Unit::kCount},
                          {"mean", "MEAN", Unit::kCount},
                          {"least", "LEAST", Unit::kCount},
                          {"most", "MOST", Unit::kCount}}};
  for (const auto& [name, kernel] : counted_kernels(trace)) {
    std::vector<std::pair<std::string, const Sum*>> sorted;
    for (const auto& [counter, sum] : kernel.counters)
      sorted.emplace_back(trace.str(counter), &sum);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [counter, sum] : sorted)
      table.rows.push_back(
          {std::string(trace.str(name)), counter, kernel.dispatches, number(sum->total),
           number(sum->total / static_cast<double>(kernel.dispatches)),
           number(sum->seen < kernel.dispatches ? std::min(0.0, sum->least) : sum->least),
           number(sum->most)});
  }
  cut_to_top(table, options);
  return table;
}

}  // namespace wavetap::analysis
