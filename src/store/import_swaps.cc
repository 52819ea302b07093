#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "codeobj/code_object.h"
#include "store/import_parts.h"

namespace wavetap::store {
namespace {

using format::SwapEvent;

const char* event_name(SwapEvent event) {
  switch (event) {
    case SwapEvent::kReplaced: return "replaced";
    case SwapEvent::kRefused: return "refused";
    case SwapEvent::kLaunchRefused: return "launch-refused";
    case SwapEvent::kTurn: return "turn";
    case SwapEvent::kLoaded: return "loaded";
  }
  return "other";
}

bool is_replaced(SwapEvent event) {
  return event == SwapEvent::kReplaced || event == SwapEvent::kLoaded;
}

// How often each fact came true. A dispatch of a replacement counts for the fact that named it; one of a
// kernel that has a replacement and ran itself, for the refusal.
class SwapCounts {
 public:
  explicit SwapCounts(const std::vector<RawSwap>& swaps)
      : swaps_(swaps), dispatches(swaps.size()), total_ns(swaps.size()) {
    for (size_t i = 0; i < swaps.size(); ++i) {
      if (is_replaced(swaps[i].event)) by_replacement_[swaps[i].fact.replacement].push_back(i);
      by_kernel_[swaps[i].fact.kernel_object].push_back(i);
    }
  }

  void add(const RawOp& op) {
    const auto& dispatch = op.as<format::DispatchRecord>();
    std::optional<size_t> found = latest(by_replacement_, dispatch, nullptr);
    const SwapEvent replaced = SwapEvent::kReplaced;
    if (!found) found = latest(by_kernel_, dispatch, &replaced);
    if (!found) return;
    ++dispatches[*found];
    if (op.complete && !op.untimed()) total_ns[*found] += op.end_ns - op.start_ns;
  }

 private:
  using Places = std::map<uint64_t, std::vector<size_t>>;

  // The newest fact of the time, but those of one kind.
  std::optional<size_t> latest(const Places& places, const format::DispatchRecord& dispatch,
                               const SwapEvent* but) const {
    const auto found = places.find(dispatch.kernel_object);
    if (found == places.end()) return std::nullopt;
    std::optional<size_t> best;
    for (const size_t i : found->second) {
      if (but != nullptr && swaps_[i].event == *but) continue;
      // A launch is refused just before it is recorded; the first fact covers what came earlier.
      if (!best || swaps_[i].fact.time <= dispatch.time) best = i;
    }
    return best;
  }

  const std::vector<RawSwap>& swaps_;
  Places by_replacement_, by_kernel_;

 public:
  std::vector<uint64_t> dispatches;
  std::vector<int64_t> total_ns;
};

}  // namespace

void import_swaps(ImportContext& import) {
  const std::vector<RawSwap>& swaps = import.facts.swaps;
  if (swaps.empty()) return;
  SwapCounts counts(swaps);
  for (const RawOp& op : import.events.ops)
    if (op.record != nullptr && op.kind() == format::Kind::kDispatch) counts.add(op);
  const auto kernel_id = [&](uint64_t object, uint64_t time) -> std::optional<int64_t> {
    const std::optional<size_t> index =
        object == 0 ? std::nullopt : import.facts.kernel(object, time);
    return index ? std::optional(import.kernels[*index].id) : std::nullopt;
  };
  for (size_t i = 0; i < swaps.size(); ++i) {
    const RawSwap& swap = swaps[i];
    const std::optional<size_t> index =
        import.facts.kernel(swap.fact.kernel_object, swap.fact.time);
    const std::string name = index ? codeobj::demangle(import.facts.kernels[*index].name) : "?";
    import.writer.put(rows::SwapUse{.pid = import.pid(),
                                    .time = import.ns(swap.fact.time),
                                    .event = event_name(swap.event),
                                    .kernel = name,
                                    .kernel_id = kernel_id(swap.fact.kernel_object, swap.fact.time),
                                    .replacement = kernel_id(swap.fact.replacement, swap.fact.time),
                                    .file = swap.file,
                                    .reason = swap.reason,
                                    .why = swap.why,
                                    .dispatches = static_cast<int64_t>(counts.dispatches[i])});
    import.result.swaps.push_back({.kernel = name,
                                   .file = swap.file,
                                   .why = swap.why,
                                   .is_replaced = is_replaced(swap.event),
                                   .is_loaded = swap.event == SwapEvent::kLoaded,
                                   .is_turn = swap.event == SwapEvent::kTurn,
                                   .dispatches = counts.dispatches[i],
                                   .total_ns = counts.total_ns[i]});
  }
}

}  // namespace wavetap::store
