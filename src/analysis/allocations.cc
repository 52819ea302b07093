#include "analysis/allocations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "amd/hip_calls.h"
#include "analysis/call_args.h"

namespace wavetap::analysis {
namespace {

enum class Kind : uint8_t { kNone, kAlloc, kHostAlloc, kFree };

// CUDA's driver interface, which HIP has no twins of.
constexpr std::pair<std::string_view, Kind> kDriverCalls[] = {
    {"cuMemAlloc", Kind::kAlloc},         {"cuMemAlloc_v2", Kind::kAlloc},
    {"cuMemAllocPitch", Kind::kAlloc},    {"cuMemAllocPitch_v2", Kind::kAlloc},
    {"cuMemAllocManaged", Kind::kAlloc},  {"cuMemAllocAsync", Kind::kAlloc},
    {"cuMemAllocHost", Kind::kHostAlloc}, {"cuMemAllocHost_v2", Kind::kHostAlloc},
    {"cuMemHostAlloc", Kind::kHostAlloc}, {"cuMemFree", Kind::kFree},
    {"cuMemFree_v2", Kind::kFree},        {"cuMemFreeAsync", Kind::kFree},
    {"cuMemFreeHost", Kind::kFree},
};

Kind kind_of(std::string_view name) {
  if (const amd::HipCall* call = amd::find_hip_call(name)) switch (call->does) {
      case amd::HipDoes::kAllocate: return Kind::kAlloc;
      case amd::HipDoes::kAllocateHost: return Kind::kHostAlloc;
      case amd::HipDoes::kFree: return Kind::kFree;
      default: return Kind::kNone;
    }
  for (const auto& [driver_name, kind] : kDriverCalls)
    if (name == driver_name) return kind;
  return Kind::kNone;
}

std::optional<uint64_t> first_number(std::string_view args,
                                     std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const std::optional<uint64_t> number = parse_number(find_arg(args, key))) return number;
  return std::nullopt;
}

struct AllocationEvent {
  int64_t time = 0;
  uint32_t row = 0;
  Kind kind = Kind::kNone;
  uint64_t pointer = 0;
  int64_t bytes = 0;
};

// The recorder followed every allocation itself: nothing to be worked out from arguments. Files of
// older versions do not tell what the runtime took for itself.
Allocations recorded_allocations(const store::Trace& trace) {
  Allocations out;
  out.tells_unasked = trace.has_asked_bytes;
  for (const store::AllocationEvent& event : trace.allocations) {
    const bool is_asked = !out.tells_unasked || event.asked >= 0;
    const Allocation allocation{.row = event.api,
                                .pid = event.pid,
                                .pointer = event.address,
                                .bytes = is_asked && out.tells_unasked ? event.asked : event.bytes,
                                .on_device = event.gpu >= 0,
                                .begin = event.start,
                                .end = event.end == 0 ? Allocation::kNever : event.end};
    (is_asked ? out.all : out.unasked).push_back(allocation);
    if (is_asked && event.end != 0) ++out.frees;
  }
  return out;
}

// A call that failed owns nothing: wavetap writes its result behind the arguments.
bool has_failed(std::string_view args) { return !find_arg(args, "result").empty(); }

}  // namespace

Allocations find_allocations(const store::Trace& trace) {
  if (!trace.allocations.empty()) return recorded_allocations(trace);
  Allocations out;
  std::vector<Kind> kinds(trace.strings.size(), Kind::kNone);
  for (store::Str s = 0; s < kinds.size(); ++s) kinds[s] = kind_of(trace.str(s));
  std::vector<AllocationEvent> events;
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const Kind kind = kinds[trace.apis.name[row]];
    if (kind == Kind::kNone) continue;
    const std::string_view args = trace.args(row);
    if (has_failed(args)) continue;
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
  std::stable_sort(
      events.begin(), events.end(),
      [](const AllocationEvent& a, const AllocationEvent& b) { return a.time < b.time; });

  std::map<std::pair<int64_t, uint64_t>, size_t> live;  // to the index in out.all
  for (const AllocationEvent& event : events) {
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

Peak peak_of(const std::vector<Allocation>& allocations, bool device_only) {
  // Frees sort before allocations of the same time.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Allocation& a : allocations) {
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
