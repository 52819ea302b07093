#include "analysis/allocations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/call_args.h"

namespace wavetap::analysis {
namespace {

enum class Kind : uint8_t { kNone, kAlloc, kHostAlloc, kFree };

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Kind kind_of(std::string_view name) {
  if (!name.starts_with("hip") && !name.starts_with("cu")) return Kind::kNone;
  if (contains(name, "HostMalloc") || contains(name, "MallocHost") || contains(name, "HostAlloc") ||
      contains(name, "MemAllocHost"))
    return Kind::kHostAlloc;
  if (contains(name, "Malloc") || contains(name, "MemAlloc") || name == "hipMemCreate")
    return Kind::kAlloc;
  if (contains(name, "Free") || name == "hipMemRelease") return Kind::kFree;
  return Kind::kNone;
}

std::optional<uint64_t> first_number(std::string_view args,
                                     std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const std::optional<uint64_t> number = parse_number(find_arg(args, key))) return number;
  return std::nullopt;
}

struct Event {
  int64_t time = 0;
  uint32_t row = 0;
  Kind kind = Kind::kNone;
  uint64_t pointer = 0;
  int64_t bytes = 0;
};

// The recorder followed every allocation itself: nothing to be worked out from arguments.
Allocations recorded_allocations(const store::Trace& trace) {
  Allocations out;
  for (const store::AllocationEvent& event : trace.allocations) {
    out.all.push_back({event.api, event.pid, event.address, event.bytes, event.gpu >= 0,
                       event.start, event.end == 0 ? Allocation::kNever : event.end});
    out.frees += event.end == 0 ? 0 : 1;
  }
  return out;
}

}  // namespace

Allocations find_allocations(const store::Trace& trace) {
  if (trace.has_allocations && !trace.allocations.empty()) return recorded_allocations(trace);
  Allocations out;
  std::vector<Kind> kinds(trace.strings.size(), Kind::kNone);
  for (store::Str s = 0; s < kinds.size(); ++s) kinds[s] = kind_of(trace.str(s));
  std::vector<Event> events;
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const Kind kind = kinds[trace.apis.name[row]];
    if (kind == Kind::kNone) continue;
    const std::string_view args = trace.args(row);
    const std::optional<uint64_t> pointer = first_number(args, {"ptr", "devPtr", "dev_ptr"});
    const std::optional<uint64_t> bytes = first_number(args, {"size", "sizeBytes"});
    if (!pointer || (kind != Kind::kFree && !bytes)) {
      ++out.unreadable;
      continue;
    }
    // An allocation exists from its return, a free takes effect at its call.
    events.push_back({kind == Kind::kFree ? trace.apis.start[row] : trace.apis.end[row], row, kind,
                      *pointer,
                      static_cast<int64_t>(std::min<uint64_t>(
                          bytes.value_or(0), std::numeric_limits<int64_t>::max() / 4))});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });

  std::map<std::pair<int64_t, uint64_t>, size_t> live;  // to the index in out.all
  for (const Event& event : events) {
    const int64_t pid = trace.threads[trace.apis.thread[event.row]].pid;
    const auto found = live.find({pid, event.pointer});
    if (found != live.end()) {
      // Allocated again without a free in between: the free was not seen, but it must have been.
      out.all[found->second].end = event.time;
      live.erase(found);
      out.frees += event.kind == Kind::kFree ? 1 : 0;
    } else if (event.kind == Kind::kFree) {
      ++(event.pointer == 0 ? out.null_frees : out.unknown_frees);
    }
    if (event.kind == Kind::kFree) continue;
    live[{pid, event.pointer}] = out.all.size();
    out.all.push_back({event.row, pid, event.pointer, event.bytes, event.kind == Kind::kAlloc,
                       event.time, Allocation::kNever});
  }
  return out;
}

Peak peak_of(const Allocations& allocations, bool device_only) {
  // Frees sort before allocations of the same time.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Allocation& a : allocations.all) {
    if (device_only && !a.on_device) continue;
    changes.push_back({a.begin, a.bytes});
    if (a.end != Allocation::kNever) changes.push_back({a.end, -a.bytes});
  }
  std::sort(changes.begin(), changes.end());
  Peak peak;
  int64_t held = 0;
  for (const auto& [time, bytes] : changes)
    if ((held += bytes) > peak.bytes) peak = {held, time};
  return peak;
}

}  // namespace wavetap::analysis
