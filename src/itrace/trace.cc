#include "itrace/trace.h"

#include <algorithm>
#include <charconv>

namespace wavetap::itrace {

std::string_view name_of(Category category) {
  constexpr std::string_view kNames[kCategories] = {"none",    "SMEM",    "SALU", "VMEM", "FLAT",
                                                    "LDS",     "VALU",    "JUMP", "NEXT", "IMMED",
                                                    "CONTEXT", "MESSAGE", "BVH"};
  return kNames[static_cast<size_t>(category)];
}

std::string_view name_of(WaveState state) {
  constexpr std::string_view kNames[kWaveStates] = {"empty", "idle", "exec", "wait", "stall"};
  return kNames[static_cast<size_t>(state)];
}

uint64_t Trace::issue_count() const {
  uint64_t count = 0;
  for (const Wave& wave : waves) count += wave.issues.size();
  return count;
}

void add_up(Trace& trace) {
  for (CodeRow& row : trace.code) row.hits = row.latency = row.stall = row.idle = 0;
  for (const Wave& wave : trace.waves) {
    int64_t end = wave.begin;
    for (const Issue& issue : wave.issues) {
      CodeRow& row = trace.code[issue.row];
      ++row.hits;
      row.latency += issue.duration;
      row.stall += issue.stall;
      row.idle += static_cast<uint64_t>(std::max<int64_t>(issue.time - end, 0));
      end = std::max(end, issue.time + issue.duration);
    }
  }
}

SourcePlace innermost_place(const CodeRow& row) {
  if (row.is_label()) return {};
  const std::string_view first =
      std::string_view(row.source).substr(0, row.source.find(kSourceSeparator));
  const size_t colon = first.rfind(':');
  if (colon == std::string_view::npos) return {};
  SourcePlace place{std::string(first.substr(0, colon)), 0};
  std::from_chars(first.data() + colon + 1, first.data() + first.size(), place.line);
  return place.line == 0 ? SourcePlace{} : place;
}

}  // namespace wavetap::itrace
