#include <fmt/format.h>

#include <string>
#include <vector>

#include "store/import_parts.h"

namespace wavetap::store {
namespace {

void note_loss(ImportContext& import, uint64_t count, const std::string& what) {
  import.writer.put(rows::LossEvent{.pid = import.pid(),
                                    .time = std::nullopt,
                                    .reason = "counters",
                                    .count = count,
                                    .what = what});
  import.result.losses += count;
  import.note(what);
}

}  // namespace

void import_counters(ImportContext& import) {
  RawCounters& counters = import.counters;
  if (!counters.any(import.facts.id().pid)) return;
  std::vector<int64_t> names(counters.names().size());
  uint64_t missing = 0;
  for (size_t i = 0; i < import.events.ops.size(); ++i) {
    const RawOp& op = import.events.ops[i];
    if (op.record == nullptr || !op.complete || op.kind() != format::Kind::kDispatch) continue;
    const auto& dispatch = op.as<format::DispatchRecord>();
    const RawQueue* const queue = import.facts.queue(dispatch.queue);
    const RawAgent* const agent =
        queue == nullptr ? nullptr : import.facts.agent(queue->fact.agent);
    const RawCounters::Line* const line =
        agent == nullptr ? nullptr
                         : counters.take(import.facts.id().pid, agent->fact.driver_node,
                                         op.start_ns, op.end_ns, dispatch);
    if (line == nullptr) {
      ++missing;
      continue;
    }
    const auto [first, last] = counters.values(*line);
    for (const RawCounters::Value* value = first; value != last; ++value) {
      int64_t& name = names[value->name];
      if (name == 0) name = import.texts.string(counters.names()[value->name]);
      import.writer.put(rows::Counter{
          .value = value->value, .op = import.id(static_cast<int64_t>(i) + 1), .name = name});
    }
  }
  if (missing > 0)
    note_loss(import, missing,
              missing == 1 ? "1 dispatch has no counters: none were found at its time"
                           : fmt::format("{} dispatches have no counters: none were found at "
                                         "their times",
                                         missing));
}

}  // namespace wavetap::store
