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

std::vector<Fact> facts_of(const store::Trace& trace, const Allocations& allocations) {
  const Peak peak = peak_of(allocations.all, /*device_only=*/false);
  const Peak device_peak = peak_of(allocations.all, /*device_only=*/true);
  const Holes holes = holes_at(allocations, device_peak.at);
  int64_t allocated = 0, held = 0;
  for (const Allocation& a : allocations.all) {
    allocated += a.bytes;
    if (a.end == Allocation::kNever) held += a.bytes;
  }
  std::vector<Fact> facts = {
      {"allocations", "allocations", Unit::kCount, static_cast<int64_t>(allocations.all.size())},
      {"frees", "frees", Unit::kCount, allocations.frees},
      {"allocated_bytes", "allocated in all", Unit::kBytes, allocated},
      {"peak_bytes", "held at the peak", Unit::kBytes, peak.bytes},
      {"peak_device_bytes", "of device memory at its peak", Unit::kBytes, device_peak.bytes},
      {"peak_at_ns", "peak reached at", Unit::kTime,
       peak.bytes > 0 ? Cell(peak.at - trace_span(trace).begin) : Cell()},
      {"hole_bytes", "holes between device allocations then", Unit::kBytes, holes.bytes},
      {"largest_hole_bytes", "largest hole", Unit::kBytes, holes.largest},
      {"fragmentation", "fragmentation", Unit::kShare,
       device_peak.bytes > 0 ? Cell(share_of(holes.bytes, holes.bytes + device_peak.bytes))
                             : Cell()},
      {"held_bytes", "still held at the end", Unit::kBytes, held}};
  if (allocations.tells_unasked)
    facts.push_back({"runtime_peak_bytes", "held by the runtime itself, at its peak", Unit::kBytes,
                     peak_of(allocations.unasked, /*device_only=*/false).bytes});
  return facts;
}

Table call_table(const store::Trace& trace, const Allocations& allocations) {
  struct Sums {
    int64_t count = 0, bytes = 0;
  };
  std::map<std::string, Sums> by_call;
  for (const Allocation& a : allocations.all) {
    Sums& sums = by_call[call_name(trace, a)];
    ++sums.count;
    sums.bytes += a.bytes;
  }
  Table table{.name = "calls",
              .title = "Allocations by call",
              .columns = {{"call", "CALL"},
                          {"allocations", "COUNT", Unit::kCount},
                          {"bytes", "BYTES", Unit::kBytes}}};
  for (const auto& [name, sums] : by_call) table.rows.push_back({name, sums.count, sums.bytes});
  return table;
}

Table live_table(const store::Trace& trace, const Allocations& allocations,
                 const Options& options) {
  const Span span = trace_span(trace);
  Table table{.name = "live",
              .title = "Still held at the end, largest first",
              .columns = {{"pointer", "POINTER"},
                          {"bytes", "BYTES", Unit::kBytes},
                          {"call", "CALL"},
                          {"at_ns", "AT", Unit::kTime}}};
  for (const Allocation& a : allocations.all) {
    if (a.end != Allocation::kNever) continue;
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(a.pointer));
    table.rows.push_back({std::string(text), a.bytes, call_name(trace, a), a.begin - span.begin});
  }
  sort_rows(table, 1);
  cut_to_top(table, options);
  return table;
}

std::vector<std::string> notes_of(const Allocations& allocations, bool has_recorded_allocations) {
  std::vector<std::string> notes;
  const auto count = [&](int64_t n, std::string_view noun, const char* what) {
    if (n > 0) notes.push_back(util::count_of(static_cast<uint64_t>(n), noun) + what);
  };
  count(allocations.unknown_frees, "free",
        " of pointers allocated before the recording or by other means");
  count(allocations.null_frees, "free", " of a null pointer");
  count(allocations.unreadable, "allocation call", " without pointer or size; record with --args");
  notes.push_back(
      allocations.tells_unasked
          ? "sizes are those the program asked for; what the runtime holds beyond them is counted "
            "apart, with what was allocated while nothing was recorded"
      : has_recorded_allocations
          ? "sizes are those of the HSA runtime, with what HIP holds for itself: the recording does "
            "not tell them apart"
          : "sizes are those the program asked for; what the runtime or a caching allocator holds "
            "beyond them is not seen");
  notes.push_back(
      "holes are unused addresses of up to 1 GiB between device allocations live at the peak");
  return notes;
}

Result<Report> analyze_memory(const store::Trace& trace, const Options& options) {
  const Allocations allocations = find_allocations(trace);
  Report report;
  report.facts = facts_of(trace, allocations);
  report.tables.push_back(call_table(trace, allocations));
  report.tables.push_back(live_table(trace, allocations, options));
  report.notes = notes_of(allocations, !trace.allocations.empty());
  return report;
}

}  // namespace

extern const Analysis kMemory{.name = "memory",
                              .help = "allocations, leaks, high-water mark, fragmentation",
                              .needs_args = true,
                              .run = analyze_memory};

}  // namespace wavetap::analysis
