// The report of `blocks`: the blocks that cost most, where lanes part, and the hot path.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/reports.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using util::Align;
using util::Table;

uint64_t instructions_of(const ProbeResults& results, SiteKey key, const BlockRow& block) {
  uint64_t count = 0;
  for (uint32_t site = key.site; site < block.end; ++site) {
    const wavetap_site* facts = results.facts({key.code, site});
    if (facts == nullptr || (facts->flags & WAVETAP_SITE_SECOND_HALF) == 0) ++count;
  }
  return count;
}

// From the entry along the edges taken most, until a block comes again.
std::vector<SiteKey> hot_path(const ProbedKernel& kernel) {
  std::vector<SiteKey> path;
  const SiteKey* at = nullptr;
  uint64_t most = 0;
  for (const auto& [block, count] : kernel.entries)
    if (count > most) at = &block, most = count;
  std::set<SiteKey> seen;
  while (at != nullptr && seen.insert(*at).second) {
    path.push_back(*at);
    const SiteKey* next = nullptr;
    most = 0;
    for (const auto& [edge, count] : kernel.edges)
      if (edge.first == path.back() && count > most) next = &edge.second, most = count;
    at = next;
  }
  if (at != nullptr) path.push_back(*at);  // where it loops back to
  return path;
}

struct Branch {
  uint64_t taken = 0;
  uint64_t passed = 0;
};

// Conditional branches, by the edges behind them.
std::map<SiteKey, Branch> branches_of(const ProbeResults& results, const ProbedKernel& kernel) {
  std::map<SiteKey, Branch> branches;
  for (const auto& [edge, count] : kernel.edges) {
    const auto block = kernel.blocks.find(edge.first);
    if (block == kernel.blocks.end() || edge.first.code != edge.second.code) continue;
    const SiteKey last{edge.first.code, block->second.end - 1};
    const wavetap_site* facts = results.facts(last);
    if (facts == nullptr || (facts->flags & WAVETAP_SITE_CONDITIONAL) == 0) continue;
    Branch& branch = branches[last];
    // A branch to the next instruction counts as taken.
    (edge.second.site == facts->target ? branch.taken : branch.passed) += count;
  }
  return branches;
}

std::string masks_text(const ProbeResults& results, const ProbedKernel& kernel,
                       const TextOptions& options) {
  std::vector<std::pair<SiteKey, MaskRow>> rows(kernel.masks.begin(), kernel.masks.end());
  std::erase_if(rows, [](const auto& row) { return row.second.split == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.split > b.second.split; });
  if (rows.empty() && is_instrumented(results, kernel.blocks.begin()->first))
    return "blocks: where lanes part is seen on a virtual GPU without --pass; ACTIVE LANES says how "
           "many came to a block\n";
  if (rows.empty()) {
    uint64_t narrowed = 0;
    for (const auto& [key, mask] : kernel.masks) narrowed += mask.kept + mask.none;
    return narrowed == 0
               ? "blocks: no instruction that changes which lanes are active was executed\n"
               : fmt::format(
                     "blocks: lanes never parted: {} changes of the mask kept all lanes or "
                     "none\n",
                     util::group_digits(narrowed));
  }
  Table table({{"  WHERE", Align::kLeft, true},
               {"INSTRUCTION"},
               {"PARTED", Align::kRight},
               {"ALL STAY", Align::kRight},
               {"NONE STAY", Align::kRight},
               {"LANES LEFT", Align::kRight}});
  for (size_t i = 0; i < rows.size() && i < options.rows; ++i) {
    const auto& [key, mask] = rows[i];
    table.add({"  " + place_of(results, key), mnemonic_of(results, key),
               util::group_digits(mask.split), util::group_digits(mask.kept),
               util::group_digits(mask.none), percent(mask.lanes_after, mask.lanes_before)});
  }
  return "blocks: lanes parted here:\n" + table.text(options.columns);
}

}  // namespace

std::string blocks_text(const ProbeResults& results, const ProbedKernel& kernel,
                        const TextOptions& options) {
  if (kernel.blocks.empty()) return "blocks: no block was entered: no wave ran\n";
  struct Cost {
    SiteKey key;
    const BlockRow* block;
    uint64_t instructions;
  };
  std::vector<Cost> costs;
  uint64_t all = 0;
  for (const auto& [key, block] : kernel.blocks) {
    costs.push_back({key, &block, block.count * instructions_of(results, key, block)});
    all += costs.back().instructions;
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const Cost& a, const Cost& b) { return a.instructions > b.instructions; });
  std::string text =
      fmt::format("blocks: {}, {} {} executed by waves\n", util::count_of(costs.size(), "block"),
                  util::group_digits(all),
                  is_instrumented(results, kernel.blocks.begin()->first) ? "instrumented places"
                                                                         : "instructions");
  Table table({{"  BLOCK"},
               {"WHERE", Align::kLeft, true},
               {"SIZE", Align::kRight},
               {"ENTERED", Align::kRight},
               {"ACTIVE LANES", Align::kRight},
               {"SHARE", Align::kRight}});
  for (size_t i = 0; i < costs.size() && i < options.rows; ++i) {
    const Cost& cost = costs[i];
    const wavetap_site* facts = results.facts(cost.key);
    table.add({fmt::format("  +{:#x}", facts == nullptr ? 0 : facts->offset),
               lines_of(results, cost.key, cost.block->end),
               std::to_string(cost.block->end - cost.key.site),
               util::group_digits(cost.block->count),
               percent(cost.block->lanes, cost.block->count * kernel.wave_size),
               percent(cost.instructions, all)});
  }
  text += table.text(options.columns) + masks_text(results, kernel, options);
  const std::vector<SiteKey> path = hot_path(kernel);
  text += "blocks: hot path:";
  for (size_t i = 0; i < path.size(); ++i) {
    if (i == options.rows) {
      text += " …";
      break;
    }
    const wavetap_site* facts = results.facts(path[i]);
    text += fmt::format("{}+{:#x}", i == 0 ? " " : " → ", facts == nullptr ? 0 : facts->offset);
  }
  return text + "\n";
}

Json blocks_json(const ProbeResults& results, const ProbedKernel& kernel) {
  Json blocks = Json::array();
  for (const auto& [key, block] : kernel.blocks) {
    Json described = describe_site(results, key);
    described["end_site"] = block.end;
    described["instructions"] = instructions_of(results, key, block);
    described["count"] = block.count;
    described["lanes"] = block.lanes;
    described["empty"] = block.empty;
    blocks.push_back(std::move(described));
  }
  Json edges = Json::array();
  for (const auto& [edge, count] : kernel.edges)
    edges.push_back({{"from", {{"code", edge.first.code}, {"site", edge.first.site}}},
                     {"to", {{"code", edge.second.code}, {"site", edge.second.site}}},
                     {"count", count}});
  Json branches = Json::array();
  for (const auto& [key, branch] : branches_of(results, kernel)) {
    Json described = describe_site(results, key);
    described["taken"] = branch.taken;
    described["not_taken"] = branch.passed;
    branches.push_back(std::move(described));
  }
  Json masks = Json::array();
  for (const auto& [key, mask] : kernel.masks) {
    Json described = describe_site(results, key);
    described["all_stay"] = mask.kept;
    described["none_stay"] = mask.none;
    described["parted"] = mask.split;
    described["other"] = mask.other;
    described["lanes_before"] = mask.lanes_before;
    described["lanes_after"] = mask.lanes_after;
    masks.push_back(std::move(described));
  }
  Json path = Json::array();
  for (const SiteKey& key : hot_path(kernel))
    path.push_back({{"code", key.code}, {"site", key.site}});
  return {{"blocks", std::move(blocks)},
          {"edges", std::move(edges)},
          {"branches", std::move(branches)},
          {"masks", std::move(masks)},
          {"hot_path", std::move(path)}};
}

}  // namespace wavetap::inspect
