// The report of `latency`: the blocks that waves spend most time in, by the clock of the GPU.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/reports.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using util::Align;
using util::Table;

std::string clock_text(const ProbeClockUsed& clock) {
  std::string text = fmt::format("latency: ticks of {}", clock.name);
  if (clock.bits < 64)
    text += fmt::format(", which has {} bits: a block of more than {} ticks seems shorter",
                        clock.bits, util::group_digits(uint64_t{1} << clock.bits));
  text += clock.is_emulated
              ? "; the clock is emulated: it goes on while the emulation runs, and says nothing "
                "about hardware\n"
              : "; the clock is the GPU's own\n";
  return text;
}

double mean_of(const LatencyRow& row) {
  return row.count == 0 ? 0 : static_cast<double>(row.ticks) / static_cast<double>(row.count);
}

}  // namespace

std::string latency_text(const ProbeResults& results, const ProbedKernel& kernel,
                         const TextOptions& options) {
  if (kernel.latency.empty()) return "latency: no block was timed: no wave ran\n";
  std::vector<std::pair<SiteKey, LatencyRow>> rows(kernel.latency.begin(), kernel.latency.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.ticks > b.second.ticks; });
  uint64_t all = 0;
  for (const auto& [key, row] : rows) all += row.ticks;
  std::string text = fmt::format("latency: {}, {} ticks of all waves together\n",
                                 util::count_of(rows.size(), "block"), util::group_digits(all));
  text += clock_text(kernel.clock);
  Table table({{"  BLOCK"},
               {"WHERE", Align::kLeft, true},
               {"ENTERED", Align::kRight},
               {"TICKS EACH", Align::kRight},
               {"LONGEST", Align::kRight},
               {"SHARE", Align::kRight}});
  for (size_t i = 0; i < rows.size() && i < options.rows; ++i) {
    const auto& [key, row] = rows[i];
    const wavetap_site* facts = results.facts(key);
    table.add({fmt::format("  +{:#x}", facts == nullptr ? 0 : facts->offset),
               lines_of(results, key, row.end), util::group_digits(row.count),
               fmt::format("{:.1f}", mean_of(row)), util::group_digits(row.most),
               percent(row.ticks, all)});
  }
  return text + table.text(options.columns);
}

Json latency_json(const ProbeResults& results, const ProbedKernel& kernel) {
  Json blocks = Json::array();
  for (const auto& [key, row] : kernel.latency) {
    Json described = describe_site(results, key);
    described["end_site"] = row.end;
    described["count"] = row.count;
    described["lanes"] = row.lanes;
    described["ticks"] = row.ticks;
    described["longest"] = row.most;
    described["mean"] = mean_of(row);
    blocks.push_back(std::move(described));
  }
  return {{"clock",
           {{"name", kernel.clock.name},
            {"bits", kernel.clock.bits},
            {"emulated", kernel.clock.is_emulated}}},
          {"blocks", std::move(blocks)}};
}

}  // namespace wavetap::inspect
