#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "itrace/report.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::itrace {
namespace {

using util::Align;
using util::group_digits;
using util::Table;

std::string percent(uint64_t part, uint64_t all) {
  if (all == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * double(part) / double(all));
}

std::string mean(uint64_t sum, uint64_t times) {
  return times == 0 ? "-" : fmt::format("{:.0f}", double(sum) / double(times));
}

std::string address_of(const CodeRow& row) { return fmt::format("{:x}", row.address); }

std::string shown_text(const CodeRow& row) { return util::escape_control(row.text); }

std::string where(const Trace& trace) {
  std::set<std::pair<uint32_t, uint32_t>> units;
  for (const Wave& wave : trace.waves) units.insert({wave.se, wave.cu});
  const char* unit = trace.gfx_major > 9 ? "WGP" : "CU";
  if (units.size() == 1)
    return fmt::format("{} {} of shader engine {}", unit, units.begin()->second,
                       units.begin()->first);
  return util::count_of(units.size(), unit);
}

std::string head(const Trace& trace, const Analysis& analysis) {
  std::string text = trace.kernel.empty() ? "kernel" : util::escape_control(trace.kernel);
  if (!trace.gpu.empty()) text += " on " + trace.gpu;
  if (!trace.target.empty()) text += " (" + trace.target + ")";
  text += trace.is_modelled ? ": instructions are exact, times are modelled, not measured\n"
                            : ": recorded on hardware\n";
  const Losses& losses = trace.losses;
  const uint64_t all = trace.waves.size() + losses.waves_elsewhere + losses.waves_left_out;
  text += fmt::format("{}{} on {}; {} in {} cycles", group_digits(trace.waves.size()),
                      all > trace.waves.size() ? fmt::format(" of {} waves", group_digits(all))
                                               : (trace.waves.size() == 1 ? " wave" : " waves"),
                      where(trace), util::count_of(analysis.instructions, "instruction"),
                      group_digits(static_cast<uint64_t>(
                          std::max<int64_t>(analysis.last_cycle - analysis.first_cycle, 0))));
  if (trace.clock_hz > 0)
    text += fmt::format(
        " ({} at {:.0f} MHz)",
        util::human_seconds(double(analysis.last_cycle - analysis.first_cycle) / trace.clock_hz),
        trace.clock_hz / 1e6);
  text += "\n";
  if (losses.instructions_lost != 0)
    text +=
        fmt::format("not kept: {} of {} that were left out and {} that were cut; raise --limit\n",
                    util::count_of(losses.instructions_lost, "instruction"),
                    util::count_of(losses.waves_left_out, "wave"), group_digits(losses.waves_cut));
  for (const std::string& note : trace.notes) text += "note: " + util::escape_control(note) + "\n";
  return text;
}

std::string causes(const Analysis& analysis, const TextOptions& options) {
  Table table({{"WAVES SPENT THEIR TIME"}, {"CYCLES", Align::kRight}, {"SHARE", Align::kRight}});
  uint64_t issuing = 0;
  for (const RowCost& row : analysis.rows) issuing += row.issue;
  const uint64_t all = issuing + analysis.stalled();
  std::vector<std::pair<uint64_t, std::string_view>> rows = {{issuing, "issuing instructions"}};
  for (size_t i = 0; i < kCauses; ++i)
    rows.emplace_back(analysis.by_cause[i], title_of(static_cast<Cause>(i)));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [cycles, title] : rows)
    if (cycles != 0) table.add({std::string(title), group_digits(cycles), percent(cycles, all)});
  std::string text = table.text(options.columns);
  const uint64_t latency = analysis.hidden + analysis.exposed;
  if (latency != 0)
    text += fmt::format("of the time that memory took, {} was hidden behind other instructions\n",
                        percent(analysis.hidden, latency));
  return text;
}

std::string hot_rows(const Trace& trace, const Analysis& analysis, const TextOptions& options) {
  Table table({{"ADDRESS", Align::kRight},
               {"HITS", Align::kRight},
               {"CYCLES", Align::kRight},
               {"SHARE", Align::kRight},
               {"STALL", Align::kRight},
               {"INSTRUCTION", Align::kLeft, /*may_shrink=*/true},
               {"SOURCE", Align::kLeft, /*may_shrink=*/true}});
  std::vector<uint32_t> order(analysis.rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cycles = [&](uint32_t row) {
    return analysis.rows[row].issue + analysis.rows[row].stalled();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return cycles(a) > cycles(b); });
  uint64_t all = 0;
  for (const uint32_t row : order) all += cycles(row);
  for (size_t i = 0; i < std::min(order.size(), options.rows) && cycles(order[i]) != 0; ++i) {
    const RowCost& cost = analysis.rows[order[i]];
    const CodeRow& row = trace.code[order[i]];
    table.add({address_of(row), group_digits(cost.hits), group_digits(cycles(order[i])),
               percent(cycles(order[i]), all), group_digits(cost.stalled()), shown_text(row),
               short_place(row)});
  }
  return table.empty() ? "" : "\nHOT INSTRUCTIONS\n" + table.text(options.columns);
}

std::string hot_lines(const Analysis& analysis, const TextOptions& options) {
  Table table({{"LINE", Align::kLeft, /*may_shrink=*/true},
               {"HITS", Align::kRight},
               {"CYCLES", Align::kRight},
               {"STALL", Align::kRight},
               {"MOSTLY"}});
  for (size_t i = 0; i < std::min(analysis.lines.size(), options.rows); ++i) {
    const SourceCost& line = analysis.lines[i];
    const std::string file = line.file.substr(line.file.rfind('/') + 1);
    table.add({fmt::format("{}:{}", util::escape_control(file), line.line), group_digits(line.hits),
               group_digits(line.cycles), group_digits(line.stalled),
               line.stalled == 0 ? "" : std::string(title_of(line.worst))});
  }
  return table.empty() ? "" : "\nHOT LINES\n" + table.text(options.columns);
}

std::string edges(const Trace& trace, const Analysis& analysis, const TextOptions& options) {
  Table table({{"WAIT AT", Align::kRight},
               {"FOR", Align::kRight},
               {"TIMES", Align::kRight},
               {"HIDDEN", Align::kRight},
               {"EXPOSED", Align::kRight},
               {"PRODUCER", Align::kLeft, /*may_shrink=*/true},
               {"SOURCE", Align::kLeft, /*may_shrink=*/true}});
  std::vector<const Edge*> order;
  for (const Edge& edge : analysis.edges) order.push_back(&edge);
  std::stable_sort(order.begin(), order.end(),
                   [](const Edge* a, const Edge* b) { return a->exposed > b->exposed; });
  for (size_t i = 0; i < std::min(order.size(), options.rows); ++i) {
    const Edge& edge = *order[i];
    const CodeRow& producer = trace.code[edge.producer];
    table.add({address_of(trace.code[edge.wait]), address_of(producer), group_digits(edge.times),
               mean(edge.hidden, edge.times), mean(edge.exposed, edge.times), shown_text(producer),
               short_place(producer)});
  }
  return table.empty() ? ""
                       : "\nWAITS (cycles are means: hidden behind other instructions, exposed)\n" +
                             table.text(options.columns);
}

std::string loops(const Trace& trace, const Analysis& analysis, const TextOptions& options) {
  Table table({{"FROM", Align::kRight},
               {"TO", Align::kRight},
               {"ENTERED", Align::kRight},
               {"ITERATIONS", Align::kRight},
               {"CYCLES EACH", Align::kRight},
               {"SOURCE", Align::kLeft, /*may_shrink=*/true}});
  std::vector<const Loop*> order;
  for (const Loop& loop : analysis.loops) order.push_back(&loop);
  std::stable_sort(order.begin(), order.end(),
                   [](const Loop* a, const Loop* b) { return a->cycles > b->cycles; });
  for (size_t i = 0; i < std::min(order.size(), options.rows); ++i) {
    const Loop& loop = *order[i];
    table.add({address_of(trace.code[loop.first]), address_of(trace.code[loop.last]),
               group_digits(loop.entered),
               loop.least == loop.most
                   ? group_digits(loop.most)
                   : fmt::format("{} to {}", group_digits(loop.least), group_digits(loop.most)),
               mean(loop.cycles, loop.measured), short_place(trace.code[loop.first])});
  }
  return table.empty() ? "" : "\nLOOPS\n" + table.text(options.columns);
}

}  // namespace

std::string short_place(const CodeRow& row) {
  const codeobj::SourceFrame place = users_place(row);
  if (place.line == 0) return "";
  return util::escape_control(
      fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line));
}

std::string report_text(const Trace& trace, const Analysis& analysis, const TextOptions& options) {
  std::string text = head(trace, analysis);
  if (trace.waves.empty())
    return text + "no wave was recorded there; choose others with --cu and --se\n";
  text += "\n" + causes(analysis, options);
  text += hot_rows(trace, analysis, options);
  text += hot_lines(analysis, options);
  text += edges(trace, analysis, options);
  text += loops(trace, analysis, options);
  return text;
}

}  // namespace wavetap::itrace
