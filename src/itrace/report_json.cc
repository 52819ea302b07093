#include <algorithm>

#include "itrace/report.h"

namespace wavetap::itrace {
namespace {

using Json = nlohmann::ordered_json;

Json causes_json(const std::array<uint64_t, kCauses>& cycles) {
  Json json = Json::object();
  for (size_t i = 0; i < kCauses; ++i)
    if (cycles[i] != 0) json[std::string(name_of(static_cast<Cause>(i)))] = cycles[i];
  return json;
}

Json rows_json(const Trace& trace, const Analysis& analysis) {
  Json rows = Json::array();
  for (size_t i = 0; i < trace.code.size(); ++i) {
    const CodeRow& row = trace.code[i];
    const RowCost& cost = analysis.rows[i];
    rows.push_back({{"row", i},
                    {"address", row.address},
                    {"text", row.text},
                    {"source", row.source},
                    {"hits", cost.hits},
                    {"cycles", cost.issue + cost.stalled()},
                    {"stalls", causes_json(cost.cycles)}});
  }
  return rows;
}

}  // namespace

Json report_json(const Trace& trace, const Analysis& analysis) {
  Json categories = Json::object();
  for (size_t i = 0; i < kCategories; ++i)
    if (analysis.by_category[i] != 0)
      categories[std::string(name_of(static_cast<Category>(i)))] = analysis.by_category[i];
  Json edges = Json::array();
  for (const Edge& edge : analysis.edges)
    edges.push_back({{"wait", edge.wait},
                     {"producer", edge.producer},
                     {"times", edge.times},
                     {"hidden", edge.hidden},
                     {"exposed", edge.exposed}});
  Json loops = Json::array();
  for (const Loop& loop : analysis.loops)
    loops.push_back({{"first", loop.first},
                     {"last", loop.last},
                     {"entered", loop.entered},
                     {"iterations", loop.iterations},
                     {"least", loop.least},
                     {"most", loop.most},
                     {"cycles", loop.cycles},
                     {"measured_iterations", loop.measured}});
  Json lines = Json::array();
  for (const SourceCost& line : analysis.lines)
    lines.push_back({{"file", line.file},
                     {"line", line.line},
                     {"hits", line.hits},
                     {"cycles", line.cycles},
                     {"stalled", line.stalled},
                     {"mostly", line.stalled == 0 ? "" : name_of(line.worst)}});
  const Losses& losses = trace.losses;
  return {{"document", "instruction-trace"},
          {"version", 1},
          {"kernel", trace.kernel},
          {"gpu", trace.gpu},
          {"target", trace.target},
          {"times", trace.is_modelled ? "modelled" : "recorded"},
          {"clock_hz", trace.clock_hz},
          {"waves", trace.waves.size()},
          {"instructions", analysis.instructions},
          {"cycles", std::max<int64_t>(analysis.last_cycle - analysis.first_cycle, 0)},
          {"wave_cycles", analysis.wave_cycles},
          {"losses",
           {{"waves_elsewhere", losses.waves_elsewhere},
            {"waves_left_out", losses.waves_left_out},
            {"waves_cut", losses.waves_cut},
            {"instructions_lost", losses.instructions_lost}}},
          {"categories", std::move(categories)},
          {"stalls", causes_json(analysis.by_cause)},
          {"hidden_cycles", analysis.hidden},
          {"exposed_cycles", analysis.exposed},
          {"rows", rows_json(trace, analysis)},
          {"edges", std::move(edges)},
          {"loops", std::move(loops)},
          {"lines", std::move(lines)},
          {"notes", trace.notes}};
}

}  // namespace wavetap::itrace
