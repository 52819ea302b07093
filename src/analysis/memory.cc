// memory: what the program allocated, what it gave back, how much it held at its peak and how
// scattered that lay, from the pointer and size arguments of its allocation calls.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "analysis/allocations.h"
#include "analysis/analysis.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

// Beyond this, neighbours are taken for different heaps rather than for one with a hole.
constexpr uint64_t kLargestHole = uint64_t{1} << 30;

struct Holes {
  int64_t bytes = 0;
  int64_t largest = 0;
  int64_t count = 0;
};

// Unused addresses between device allocations that were live at `time`.
Holes holes_at(const Allocations& allocations, int64_t time) {
  std::map<int64_t, std::vector<std::pair<uint64_t, uint64_t>>> per_process;
  for (const Allocation& a : allocations.all)
    if (a.on_device && a.begin <= time && a.end > time)
      per_process[a.pid].push_back({a.pointer, a.pointer + static_cast<uint64_t>(a.bytes)});
  Holes holes;
  for (auto& [pid, ranges] : per_process) {
    std::sort(ranges.begin(), ranges.end());
    uint64_t reached = ranges.front().first;
    for (const auto& [begin, end] : ranges) {
      if (begin > reached && begin - reached <= kLargestHole) {
        holes.bytes += static_cast<int64_t>(begin - reached);
        holes.largest = std::max(holes.largest, static_cast<int64_t>(begin - reached));
        ++holes.count;
      }
      reached = std::max(reached, end);
    }
  }
  return holes;
}

std::string call_name(const store::Trace& trace, const Allocation& a) {
  return a.row == store::kNoRow ? "?" : std::string(trace.str(trace.apis.name[a.row]));
}

Result<Report> run(const store::Trace& trace, const Options& options) {
  const Allocations allocations = find_allocations(trace);
  const Peak peak = peak_of(allocations.all, /*device_only=*/false);
  const Peak device_peak = peak_of(allocations.all, /*device_only=*/true);
  const Holes holes = holes_at(allocations, device_peak.at);
  const Span span = trace_span(trace);
  int64_t allocated = 0, held = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> by_call;
  std::vector<const Allocation*> left;
  for (const Allocation& a : allocations.all) {
    allocated += a.bytes;
    auto& [count, bytes] = by_call[call_name(trace, a)];
    ++count;
    bytes += a.bytes;
    if (a.end != Allocation::kNever) continue;
    held += a.bytes;
    left.push_back(&a);
  }

  Report report;
  report.facts.push_back(
      {"allocations", "allocations", Unit::kCount, static_cast<int64_t>(allocations.all.size())});
  report.facts.push_back({"frees", "frees", Unit::kCount, allocations.frees});
  report.facts.push_back({"allocated_bytes", "allocated in all", Unit::kBytes, allocated});
  report.facts.push_back({"peak_bytes", "held at the peak", Unit::kBytes, peak.bytes});
  report.facts.push_back(
      {"peak_device_bytes", "of device memory at its peak", Unit::kBytes, device_peak.bytes});
  report.facts.push_back({"peak_at_ns", "peak reached at", Unit::kTime,
                          peak.bytes > 0 ? Cell(peak.at - span.begin) : Cell()});
  report.facts.push_back(
      {"hole_bytes", "holes between device allocations then", Unit::kBytes, holes.bytes});
  report.facts.push_back({"largest_hole_bytes", "largest hole", Unit::kBytes, holes.largest});
  report.facts.push_back({"fragmentation", "fragmentation", Unit::kShare,
                          device_peak.bytes > 0
                              ? Cell(static_cast<double>(holes.bytes) /
                                     static_cast<double>(holes.bytes + device_peak.bytes))
                              : Cell()});
  report.facts.push_back({"held_bytes", "still held at the end", Unit::kBytes, held});
  if (allocations.tells_unasked)
    report.facts.push_back({"runtime_peak_bytes", "held by the runtime itself, at its peak",
                            Unit::kBytes, peak_of(allocations.unasked, false).bytes});

  Table calls{
      "calls",
      "Allocations by call",
      {{"call", "CALL"}, {"allocations", "COUNT", Unit::kCount}, {"bytes", "BYTES", Unit::kBytes}},
      {},
      0};
  for (const auto& [name, sums] : by_call) calls.rows.push_back({name, sums.first, sums.second});
  report.tables.push_back(std::move(calls));

  Table leaks{"live",
              "Still held at the end, largest first",
              {{"pointer", "POINTER"},
               {"bytes", "BYTES", Unit::kBytes},
               {"call", "CALL"},
               {"at_ns", "AT", Unit::kTime}},
              {},
              0};
  std::stable_sort(left.begin(), left.end(),
                   [](const Allocation* a, const Allocation* b) { return a->bytes > b->bytes; });
  for (const Allocation* a : left) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(a->pointer));
    leaks.rows.push_back(
        {std::string(text), a->bytes, call_name(trace, *a), a->begin - span.begin});
  }
  cut_to_top(leaks, options);
  report.tables.push_back(std::move(leaks));
  if (allocations.unknown_frees > 0)
    report.notes.push_back(
        util::count_of(static_cast<uint64_t>(allocations.unknown_frees), "free") +
        " of pointers allocated before the recording or by other means");
  if (allocations.null_frees > 0)
    report.notes.push_back(util::count_of(static_cast<uint64_t>(allocations.null_frees), "free") +
                           " of a null pointer");
  if (allocations.unreadable > 0)
    report.notes.push_back(
        util::count_of(static_cast<uint64_t>(allocations.unreadable), "allocation call") +
        " without pointer or size; record with --args");
  report.notes.push_back(
      allocations.tells_unasked
          ? "sizes are those the program asked for; what the runtime holds beyond them is counted "
            "apart, with what was allocated while nothing was recorded"
      : trace.allocations.empty()
          ? "sizes are those the program asked for; what the runtime or a caching allocator holds "
            "beyond them is not seen"
          : "sizes are those of the HSA runtime, with what HIP holds for itself: the recording "
            "does "
            "not tell them apart");
  report.notes.push_back(
      "holes are unused addresses of up to 1 GiB between device allocations live at the peak");
  return report;
}

}  // namespace

extern const Analysis kMemory{"memory", "allocations, leaks, high-water mark, fragmentation",
                              "",       /*needs_args=*/true,
                              false,    run};

}  // namespace wavetap::analysis
