#include "inspect/site_figures.h"

#include <algorithm>

namespace wavetap::inspect {

void SiteFigures::add(const SiteFigures& other) {
  count += other.count, lanes += other.lanes;
  lines += other.lines, ideal_lines += other.ideal_lines;
  lds_cycles += other.lds_cycles, lds_ideal += other.lds_ideal;
  ticks += other.ticks, parted += other.parted;
}

std::map<SiteKey, SiteFigures> site_figures(const ProbedKernel& kernel) {
  std::map<SiteKey, SiteFigures> figures;
  for (const auto& [key, row] : kernel.instructions) {
    figures[key].count = row.count;
    figures[key].lanes = row.lanes;
  }
  // Blocks count the same, where `instructions` did not run.
  if (kernel.instructions.empty())
    for (const auto& [key, block] : kernel.blocks)
      for (uint32_t site = key.site; site < block.end; ++site) {
        SiteFigures& at = figures[{key.code, site}];
        at.count = block.count;
        at.lanes = block.lanes;
      }
  const bool counted = !kernel.instructions.empty() || !kernel.blocks.empty();
  for (const auto& [key, row] : kernel.memory) {
    SiteFigures& at = figures[key.first];
    if (!counted) {
      at.count = std::max(at.count, row["count"]);
      at.lanes = std::max(at.lanes, row["lanes"]);
    }
    if (key.second.space == WAVETAP_GLOBAL && (key.second.flags & WAVETAP_SCALAR) == 0) {
      at.lines += row["lines"];
      at.ideal_lines += row["ideal_lines"];
    }
    at.lds_cycles += row["lds_cycles"];
    at.lds_ideal += row["lds_ideal"];
  }
  for (const auto& [key, row] : kernel.latency) {
    SiteFigures& at = figures[key];
    at.ticks = row.ticks;
    if (!counted) at.count = row.count, at.lanes = row.lanes;
  }
  for (const auto& [key, mask] : kernel.masks) figures[key].parted += mask.split;
  return figures;
}

}  // namespace wavetap::inspect
