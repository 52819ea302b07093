// The report of `instructions`: the mix by category, the mnemonics and lines executed most.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/reports.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using util::Align;
using util::Table;

constexpr const char* kCategories[WAVETAP_CATEGORIES] = {"scalar ALU",
                                                         "scalar memory",
                                                         "vector ALU",
                                                         "matrix",
                                                         "vector memory load",
                                                         "vector memory store",
                                                         "vector memory atomic",
                                                         "LDS",
                                                         "branch",
                                                         "barrier",
                                                         "message",
                                                         "wait",
                                                         "other"};
constexpr const char* kKeys[WAVETAP_CATEGORIES] = {
    "salu", "smem",   "valu",    "matrix",  "vmem_load", "vmem_store", "vmem_atomic",
    "lds",  "branch", "barrier", "message", "wait",      "other"};

struct Sum {
  uint64_t count = 0;
  uint64_t lanes = 0;
  void add(const ExecutionRow& row) { count += row.count, lanes += row.lanes; }
};

struct Mix {
  uint64_t all = 0;
  Sum category[WAVETAP_CATEGORIES];
  std::map<std::string, Sum> mnemonic;
  std::map<std::pair<std::string, uint32_t>, Sum> line;
  std::map<std::string, Sum> function;
};

Mix mix_of(const ProbeResults& results, const ProbedKernel& kernel) {
  Mix mix;
  for (const auto& [key, row] : kernel.instructions) {
    mix.all += row.count;
    const wavetap_site* facts = results.facts(key);
    if (facts == nullptr) continue;
    mix.category[facts->category].add(row);
    mix.mnemonic[facts->mnemonic].add(row);
    const ListedSite* site = results.site(key);
    if (site->frames.empty()) continue;
    mix.line[{site->shown().file, site->shown().line}].add(row);
    mix.function[site->shown().function].add(row);
  }
  return mix;
}

template <class Map>
std::vector<std::pair<typename Map::key_type, Sum>> by_count(const Map& map) {
  std::vector<std::pair<typename Map::key_type, Sum>> rows(map.begin(), map.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  return rows;
}

bool has_lanes(size_t category) {
  switch (category) {
    case WAVETAP_VALU:
    case WAVETAP_MATRIX:
    case WAVETAP_VMEM_LOAD:
    case WAVETAP_VMEM_STORE:
    case WAVETAP_VMEM_ATOMIC:
    case WAVETAP_LDS_OP: return true;
    default: return false;
  }
}

}  // namespace

std::string instructions_text(const ProbeResults& results, const ProbedKernel& kernel,
                              const TextOptions& options) {
  const Mix mix = mix_of(results, kernel);
  if (mix.all == 0) return "instructions: none was executed: no wave ran\n";
  std::string text =
      fmt::format("instructions: {} executed by waves\n", util::group_digits(mix.all));
  if (is_instrumented(results, kernel.instructions.begin()->first))
    text = fmt::format(
        "instructions: {} instrumented places executed by waves: entries of blocks, "
        "accesses, barriers, messages; the rest is counted without --pass\n",
        util::group_digits(mix.all));
  Table categories({{"  CATEGORY"},
                    {"COUNT", Align::kRight},
                    {"SHARE", Align::kRight},
                    {"ACTIVE LANES", Align::kRight}});
  for (size_t i = 0; i < WAVETAP_CATEGORIES; ++i) {
    const Sum& sum = mix.category[i];
    if (sum.count != 0)
      categories.add({std::string("  ") + kCategories[i], util::group_digits(sum.count),
                      percent(sum.count, mix.all),
                      has_lanes(i) ? percent(sum.lanes, sum.count * kernel.wave_size) : ""});
  }
  text += categories.text(options.columns);
  Table names({{"  INSTRUCTION"}, {"COUNT", Align::kRight}, {"SHARE", Align::kRight}});
  size_t shown = 0;
  for (const auto& [name, sum] : by_count(mix.mnemonic))
    if (shown++ < options.rows)
      names.add({"  " + name, util::group_digits(sum.count), percent(sum.count, mix.all)});
  text += names.text(options.columns);
  if (mix.line.empty())
    return text +
           "instructions: no source lines are known; compile with -g or -gline-tables-only\n";
  Table lines({{"  LINE"}, {"COUNT", Align::kRight}, {"SHARE", Align::kRight}});
  shown = 0;
  for (const auto& [place, sum] : by_count(mix.line))
    if (shown++ < options.rows)
      lines.add({"  " + short_place({"", place.first, place.second, 0}),
                 util::group_digits(sum.count), percent(sum.count, mix.all)});
  return text + lines.text(options.columns);
}

Json instructions_json(const ProbeResults& results, const ProbedKernel& kernel) {
  const Mix mix = mix_of(results, kernel);
  Json categories = Json::object();
  for (size_t i = 0; i < WAVETAP_CATEGORIES; ++i)
    if (mix.category[i].count != 0)
      categories[kKeys[i]] = {{"count", mix.category[i].count}, {"lanes", mix.category[i].lanes}};
  Json mnemonics = Json::array();
  for (const auto& [name, sum] : by_count(mix.mnemonic))
    mnemonics.push_back({{"mnemonic", name}, {"count", sum.count}, {"lanes", sum.lanes}});
  Json lines = Json::array();
  for (const auto& [place, sum] : mix.line)
    lines.push_back({{"file", place.first},
                     {"line", place.second},
                     {"count", sum.count},
                     {"lanes", sum.lanes}});
  Json functions = Json::array();
  for (const auto& [name, sum] : by_count(mix.function))
    functions.push_back({{"function", name}, {"count", sum.count}, {"lanes", sum.lanes}});
  Json sites = Json::array();
  for (const auto& [key, row] : kernel.instructions) {
    Json site = describe_site(results, key);
    site["count"] = row.count;
    site["lanes"] = row.lanes;
    sites.push_back(std::move(site));
  }
  return {{"count", mix.all},
          {"categories", std::move(categories)},
          {"mnemonics", std::move(mnemonics)},
          {"lines", std::move(lines)},
          {"functions", std::move(functions)},
          {"sites", std::move(sites)}};
}

}  // namespace wavetap::inspect
