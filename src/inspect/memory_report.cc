// The report of `memory`: instructions by what they waste, LDS conflicts, and the same per line.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/reports.h"
#include "util/table.h"
#include "util/text.h"
#include "wavetap/handler.h"

namespace wavetap::inspect {
namespace {

using util::Align;
using util::Table;

using Entry = std::pair<const std::pair<SiteKey, MemoryKind>, MemoryRow>;

bool is_vector_global(const MemoryKind& kind) {
  return kind.space == WAVETAP_GLOBAL && (kind.flags & WAVETAP_SCALAR) == 0;
}

uint64_t excess(const MemoryRow& row) { return row["lines"] - row["ideal_lines"]; }

// "stride 128", "scattered", "misaligned": what most executions are.
std::string pattern_of(const MemoryRow& row) {
  int64_t stride = 0;
  uint64_t most = 0;
  for (const auto& [bytes, count] : row.strides)
    if (count > most) stride = bytes, most = count;
  std::string text;
  if (most == 0 && row["irregular"] == 0) text = "one lane";
  else if (most <= row["irregular"]) text = "irregular";
  else if (stride == 0) text = "same address";
  else text = fmt::format("stride {}", stride);
  if (row["misaligned"] > row["scattered"]) text += ", misaligned";
  return text;
}

std::string kind_text(const MemoryKind& kind) {
  return fmt::format("{} {}", access_name(kind.access), kind.element_bytes);
}

std::string global_text(const ProbeResults& results, const ProbedKernel& kernel,
                        const TextOptions& options) {
  std::vector<const Entry*> rows;
  uint64_t count = 0, lines = 0, ideal = 0;
  for (const Entry& entry : kernel.memory) {
    if (!is_vector_global(entry.first.second)) continue;
    rows.push_back(&entry);
    count += entry.second["count"];
    lines += entry.second["lines"];
    ideal += entry.second["ideal_lines"];
  }
  if (rows.empty())
    return "memory: no vector access to global memory was executed, so nothing is said about "
           "coalescing\n";
  std::string text = fmt::format(
      "memory: {} accesses of waves to global memory used {} cache lines of {} bytes; {} would do "
      "({} of what is moved is used)\n",
      util::group_digits(count), util::group_digits(lines), kernel.line_bytes,
      util::group_digits(ideal), percent(ideal, lines));
  std::stable_sort(rows.begin(), rows.end(), [](const Entry* a, const Entry* b) {
    return excess(a->second) > excess(b->second);
  });
  Table table({{"  WHERE", Align::kLeft, true},
               {"INSTRUCTION"},
               {"ACCESS"},
               {"COUNT", Align::kRight},
               {"LANES", Align::kRight},
               {"LINES", Align::kRight},
               {"NEEDED", Align::kRight},
               {"RATIO", Align::kRight},
               {"PATTERN"}});
  for (size_t i = 0; i < rows.size() && i < options.rows; ++i) {
    const auto& [key, row] = *rows[i];
    table.add({"  " + place_of(results, key.first), mnemonic_of(results, key.first),
               kind_text(key.second), util::group_digits(row["count"]),
               util::group_digits(row["lanes"]), util::group_digits(row["lines"]),
               util::group_digits(row["ideal_lines"]), ratio(row["lines"], row["ideal_lines"]),
               pattern_of(row)});
  }
  text += table.text(options.columns);
  if (rows.size() > options.rows)
    text += fmt::format("  … and {} more\n", rows.size() - options.rows);
  return text;
}

std::string lds_text(const ProbeResults& results, const ProbedKernel& kernel,
                     const TextOptions& options) {
  std::vector<const Entry*> rows;
  uint64_t count = 0, cycles = 0, ideal = 0;
  for (const Entry& entry : kernel.memory) {
    if (entry.first.second.space != WAVETAP_LDS) continue;
    rows.push_back(&entry);
    count += entry.second["count"];
    cycles += entry.second["lds_cycles"];
    ideal += entry.second["lds_ideal"];
  }
  if (rows.empty()) return "memory: no access to LDS was executed\n";
  std::string text =
      fmt::format("memory: {} accesses of waves to LDS took {} cycles; {} without conflicts\n",
                  util::group_digits(count), util::group_digits(cycles), util::group_digits(ideal));
  std::erase_if(rows, [](const Entry* entry) {
    return entry->second["lds_cycles"] == entry->second["lds_ideal"];
  });
  if (rows.empty()) return text;
  std::stable_sort(rows.begin(), rows.end(), [](const Entry* a, const Entry* b) {
    return a->second["lds_cycles"] - a->second["lds_ideal"] >
           b->second["lds_cycles"] - b->second["lds_ideal"];
  });
  Table table({{"  WHERE", Align::kLeft, true},
               {"INSTRUCTION"},
               {"ACCESS"},
               {"COUNT", Align::kRight},
               {"CYCLES", Align::kRight},
               {"IDEAL", Align::kRight},
               {"BANK", Align::kRight},
               {"SAME", Align::kRight},
               {"WAYS", Align::kRight},
               {"LANES THAT MEET"}});
  for (size_t i = 0; i < rows.size() && i < options.rows; ++i) {
    const auto& [key, row] = *rows[i];
    table.add({"  " + place_of(results, key.first), mnemonic_of(results, key.first),
               kind_text(key.second), util::group_digits(row["count"]),
               util::group_digits(row["lds_cycles"]), util::group_digits(row["lds_ideal"]),
               util::group_digits(row["bank_conflicts"]),
               util::group_digits(row["address_conflicts"]), std::to_string(row.ways),
               row.ways > 1 ? fmt::format("{} at bank {}", row.conflicting, row.bank) : ""});
  }
  return text + table.text(options.columns);
}

std::string rest_text(const ProbedKernel& kernel) {
  std::string text;
  uint64_t scalar = 0, scratch = 0, outside = 0, crossing = 0, first = 0;
  std::vector<uint64_t> reuse;
  for (const auto& [key, row] : kernel.memory) {
    if ((key.second.flags & WAVETAP_SCALAR) != 0) scalar += row["count"];
    if (key.second.space == WAVETAP_SCRATCH) scratch += row["count"];
    outside += row["outside"];
    if (!is_vector_global(key.second)) continue;
    crossing += row["crossing"];
    first += row["first_touches"];
    if (reuse.size() < row.reuse.size()) reuse.resize(row.reuse.size());
    for (size_t i = 0; i < row.reuse.size(); ++i) reuse[i] += row.reuse[i];
  }
  uint64_t again = 0, near = 0;
  for (size_t i = 0; i < reuse.size(); ++i) {
    again += reuse[i];
    if (i < 8) near += reuse[i];  // within 255 touches
  }
  if (first + again != 0)
    text += fmt::format(
        "memory: of {} touches of lines, {} were the workgroup's first, {} came again within 255 "
        "touches, {} later\n",
        util::group_digits(first + again), util::group_digits(first), util::group_digits(near),
        util::group_digits(again - near));
  if (scalar != 0)
    text += fmt::format("memory: {} scalar accesses (always whole lines)\n",
                        util::group_digits(scalar));
  if (scratch != 0)
    text += fmt::format(
        "memory: {} accesses to scratch: registers were spilled, or arrays are "
        "indexed\n",
        util::group_digits(scratch));
  if (crossing != 0)
    text += fmt::format("memory: {} elements lie across two lines\n", util::group_digits(crossing));
  if (outside != 0)
    text += fmt::format("memory: {} lanes were outside their buffer or LDS and touched nothing\n",
                        util::group_digits(outside));
  return text;
}

// Sums per source line.
Json lines_json(const ProbeResults& results, const ProbedKernel& kernel) {
  struct LineSum {
    uint64_t count = 0, lanes = 0, lines = 0, ideal = 0, lds_cycles = 0, lds_ideal = 0;
    uint64_t conflicts = 0;
  };
  std::map<std::pair<std::string, uint32_t>, LineSum> by_line;
  for (const auto& [key, row] : kernel.memory) {
    const ListedSite* site = results.site(key.first);
    if (site == nullptr || site->frames.empty()) continue;
    LineSum& sum = by_line[{site->shown().file, site->shown().line}];
    sum.count += row["count"], sum.lanes += row["lanes"];
    sum.lds_cycles += row["lds_cycles"], sum.lds_ideal += row["lds_ideal"];
    sum.conflicts += row["bank_conflicts"];
    if (!is_vector_global(key.second)) continue;
    sum.lines += row["lines"], sum.ideal += row["ideal_lines"];
  }
  Json lines = Json::array();
  for (const auto& [place, sum] : by_line)
    lines.push_back({{"file", place.first},
                     {"line", place.second},
                     {"count", sum.count},
                     {"lanes", sum.lanes},
                     {"lines", sum.lines},
                     {"ideal_lines", sum.ideal},
                     {"lds_cycles", sum.lds_cycles},
                     {"lds_ideal", sum.lds_ideal},
                     {"bank_conflicts", sum.conflicts}});
  return lines;
}

}  // namespace

std::string memory_text(const ProbeResults& results, const ProbedKernel& kernel,
                        const TextOptions& options) {
  if (kernel.memory.empty())
    return "memory: no access to memory was executed, so there is nothing to judge\n";
  return global_text(results, kernel, options) + lds_text(results, kernel, options) +
         rest_text(kernel);
}

Json memory_json(const ProbeResults& results, const ProbedKernel& kernel) {
  Json sites = Json::array();
  for (const auto& [key, row] : kernel.memory) {
    Json site = describe_site(results, key.first);
    site["space"] = space_name(key.second.space);
    site["access"] = access_name(key.second.access);
    site["scalar"] = (key.second.flags & WAVETAP_SCALAR) != 0;
    site["element_bytes"] = key.second.element_bytes;
    for (const char* column :
         {"count", "lanes", "outside", "unique_bytes", "lines", "ideal_lines", "misaligned",
          "scattered", "crossing", "one_address", "single", "irregular"})
      site[column] = row[column];
    site["alignment"] = row.alignment;
    Json strides = Json::array();
    for (const auto& [bytes, count] : row.strides)
      strides.push_back({{"bytes", bytes}, {"count", count}});
    site["strides"] = std::move(strides);
    site["first_touches"] = row["first_touches"];
    site["reuse_log2"] = row.reuse;
    if (key.second.space == WAVETAP_LDS) {
      for (const char* column : {"lds_cycles", "lds_ideal", "bank_conflicts", "address_conflicts"})
        site[column] = row[column];
      site["ways"] = row.ways;
      site["bank"] = row.bank;
      site["conflicting_lanes"] = row.conflicting;
    }
    sites.push_back(std::move(site));
  }
  return {{"sites", std::move(sites)}, {"lines", lines_json(results, kernel)}};
}

}  // namespace wavetap::inspect
