// memory: what the program allocated, what it gave back, and how much it held at its peak, from the
// pointer and size arguments of its allocation calls.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/call_args.h"

namespace wavetap::analysis {
namespace {

enum class Kind : uint8_t { kNone, kAlloc, kFree };

Kind kind_of(std::string_view name) {
  if (name.find("Malloc") != std::string_view::npos || name.find("MemAlloc") != std::string_view::npos ||
      name.find("HostAlloc") != std::string_view::npos || name == "hipMemCreate")
    return Kind::kAlloc;
  if (name.find("Free") != std::string_view::npos || name == "hipMemRelease") return Kind::kFree;
  return Kind::kNone;
}

struct Event {
  int64_t time = 0;
  uint32_t row = 0;
  Kind kind = Kind::kNone;
  int64_t pid = 0;
  uint64_t pointer = 0;
  int64_t size = 0;
};

struct Live {
  int64_t size = 0;
  uint32_t row = 0;
};

Result<Report> run(const store::Trace& trace, const Options& options) {
  std::vector<Event> events;
  uint64_t without_pointer = 0;
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const Kind kind = kind_of(trace.str(trace.apis.name[row]));
    if (kind == Kind::kNone) continue;
    const std::string_view args = trace.args(row);
    std::optional<uint64_t> pointer = parse_number(find_arg(args, "ptr"));
    if (!pointer) pointer = parse_number(find_arg(args, "devPtr"));
    if (!pointer) pointer = parse_number(find_arg(args, "dev_ptr"));
    if (!pointer) {
      ++without_pointer;
      continue;
    }
    std::optional<uint64_t> size = parse_number(find_arg(args, "size"));
    if (!size) size = parse_number(find_arg(args, "sizeBytes"));
    if (kind == Kind::kAlloc && !size) {
      ++without_pointer;
      continue;
    }
    // An allocation exists from its return, a free takes effect at its call.
    events.push_back({kind == Kind::kAlloc ? trace.apis.end[row] : trace.apis.start[row], row, kind,
                      trace.threads[trace.apis.thread[row]].pid, *pointer, static_cast<int64_t>(size.value_or(0))});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });

  std::map<std::pair<int64_t, uint64_t>, Live> live;
  int64_t held = 0, peak = 0, peak_at = 0, allocated = 0, allocations = 0, frees = 0, unknown_frees = 0, null_frees = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> by_call;
  for (const Event& event : events) {
    if (event.kind == Kind::kAlloc) {
      ++allocations;
      allocated += event.size;
      held += event.size;
      live[{event.pid, event.pointer}] = {event.size, event.row};
      auto& [count, bytes] = by_call[std::string(trace.str(trace.apis.name[event.row]))];
      ++count;
      bytes += event.size;
      if (held > peak) peak = held, peak_at = event.time;
    } else if (event.pointer == 0) {
      ++null_frees;
    } else if (const auto found = live.find({event.pid, event.pointer}); found != live.end()) {
      ++frees;
      held -= found->second.size;
      live.erase(found);
    } else {
      ++unknown_frees;
    }
  }

  Report report;
  const Span span = trace_span(trace);
  report.facts.push_back({"allocations", "allocations", Unit::kCount, allocations});
  report.facts.push_back({"frees", "frees", Unit::kCount, frees});
  report.facts.push_back({"allocated_bytes", "allocated in all", Unit::kBytes, allocated});
  report.facts.push_back({"peak_bytes", "held at the peak", Unit::kBytes, peak});
  report.facts.push_back({"peak_at_ns", "peak reached at", Unit::kTime, allocations > 0 ? peak_at - span.begin : int64_t{0}});
  report.facts.push_back({"held_bytes", "still held at the end", Unit::kBytes, held});

  Table calls{"calls", "Allocations by call",
              {{"call", "CALL"}, {"allocations", "COUNT", Unit::kCount}, {"bytes", "BYTES", Unit::kBytes}}, {}, 0};
  for (const auto& [name, sums] : by_call) calls.rows.push_back({name, sums.first, sums.second});
  report.tables.push_back(std::move(calls));

  Table leaks{"live", "Still held at the end, largest first",
              {{"pointer", "POINTER"}, {"bytes", "BYTES", Unit::kBytes}, {"call", "CALL"}, {"at_ns", "AT", Unit::kTime}}, {}, 0};
  std::vector<std::pair<uint64_t, Live>> left;
  for (const auto& [key, allocation] : live) left.push_back({key.second, allocation});
  std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.second.size > b.second.size; });
  for (const auto& [pointer, allocation] : left) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(pointer));
    leaks.rows.push_back({std::string(text), allocation.size, std::string(trace.str(trace.apis.name[allocation.row])),
                          trace.apis.start[allocation.row] - span.begin});
  }
  cut_to_top(leaks, options);
  report.tables.push_back(std::move(leaks));
  if (unknown_frees > 0)
    report.notes.push_back(std::to_string(unknown_frees) + " frees of pointers allocated before the recording or by other means");
  if (null_frees > 0) report.notes.push_back(std::to_string(null_frees) + " frees of a null pointer");
  if (without_pointer > 0)
    report.notes.push_back(std::to_string(without_pointer) + " allocation calls carry no pointer or size; record with --args");
  report.notes.push_back("sizes are those the program asked for; what the runtime or a caching allocator holds beyond them is not seen");
  return report;
}

}  // namespace

extern const Analysis kMemory{"memory", "allocations, frees, peak and what is still held", "", /*needs_args=*/true, false, run};

}  // namespace wavetap::analysis
