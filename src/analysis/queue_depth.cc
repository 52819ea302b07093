// queue-depth: how much work was in flight, from the start of the launching call to the end of the
// op.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

constexpr int64_t kBounds[] = {0, 1, 2, 4, 8, 16, 64};
const char* const kNames[] = {"0", "1", "2-3", "4-7", "8-15", "16-63", "64+"};

Result<Report> analyze_queue_depth(const store::Trace& trace, const Options&) {
  std::map<int32_t, std::vector<std::pair<int64_t, int>>> gpus;
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i], op = trace.links.op[i];
    if (api == kNoRow || op == kNoRow) continue;
    // An op that ends before its call began carries no depth; skip rather than go negative.
    if (trace.ops.end[op] < trace.apis.start[api]) continue;
    gpus[trace.ops.gpu[op]].push_back({trace.apis.start[api], 1});
    gpus[trace.ops.gpu[op]].push_back({trace.ops.end[op], -1});
  }
  Report report;
  Table summary{.name = "gpus",
                .title = "Work in flight per GPU",
                .columns = {{"gpu", "GPU", Unit::kCount},
                            {"mean", "MEAN", Unit::kNumber},
                            {"max", "MAX", Unit::kCount},
                            {"empty_share", "EMPTY", Unit::kShare}}};
  Table spread{.name = "spread",
               .title = "Share of the time at each depth",
               .columns = {{"gpu", "GPU", Unit::kCount},
                           {"depth", "DEPTH"},
                           {"time_ns", "TIME", Unit::kNs},
                           {"share", "SHARE", Unit::kShare}}};
  for (auto& [gpu, edges] : gpus) {
    std::sort(edges.begin(), edges.end());
    int64_t depth = 0, deepest = 0, last = edges.front().first;
    std::vector<int64_t> at(std::size(kBounds), 0);
    double weighted = 0;
    for (const auto& [time, delta] : edges) {
      size_t bin = 0;
      while (bin + 1 < std::size(kBounds) && depth >= kBounds[bin + 1]) ++bin;
      at[bin] += time - last;
      weighted += static_cast<double>(depth) * static_cast<double>(time - last);
      depth += delta;
      deepest = std::max(deepest, depth);
      last = time;
    }
    const double wall = static_cast<double>(last - edges.front().first);
    summary.rows.push_back({int64_t{gpu}, wall > 0 ? weighted / wall : 0.0, deepest,
                            wall > 0 ? static_cast<double>(at[0]) / wall : 0.0});
    for (size_t bin = 0; bin < at.size(); ++bin)
      if (at[bin] > 0)
        spread.rows.push_back({int64_t{gpu}, std::string(kNames[bin]), at[bin],
                               wall > 0 ? static_cast<double>(at[bin]) / wall : 0.0});
  }
  report.tables.push_back(std::move(summary));
  report.tables.push_back(std::move(spread));
  if (gpus.empty()) report.notes.push_back("no op in the trace is linked to a call");
  return report;
}

}  // namespace

extern const Analysis kQueueDepth{.name = "queue-depth",
                                  .help = "how much work was in flight over time",
                                  .run = analyze_queue_depth};

}  // namespace wavetap::analysis
