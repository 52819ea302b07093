#include "itrace/trace.h"

#include <algorithm>
#include <charconv>

namespace wavetap::itrace {

std::string_view name_of(Category category) {
  constexpr std::string_view kCategoryNames[kCategories] = {
      "none", "SMEM", "SALU",  "VMEM",    "FLAT",    "LDS", "VALU",
      "JUMP", "NEXT", "IMMED", "CONTEXT", "MESSAGE", "BVH"};
  return kCategoryNames[static_cast<size_t>(category)];
}

std::string_view name_of(WaveState state) {
  constexpr std::string_view kStateNames[kWaveStates] = {"empty", "idle", "exec", "wait", "stall"};
  return kStateNames[static_cast<size_t>(state)];
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

std::vector<codeobj::SourceFrame> places_of(const CodeRow& row) {
  std::vector<codeobj::SourceFrame> places;
  if (row.is_label()) return places;
  for (size_t at = 0; at < row.source.size();) {
    const size_t end = std::min(row.source.find(kSourceSeparator, at), row.source.size());
    const std::string_view place = std::string_view(row.source).substr(at, end - at);
    at = end + kSourceSeparator.size();
    const size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) continue;
    codeobj::SourceFrame frame;
    frame.file = place.substr(0, colon);
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), frame.line);
    if (frame.line != 0) places.push_back(std::move(frame));
  }
  return places;
}

codeobj::SourceFrame users_place(const CodeRow& row) {
  const std::vector<codeobj::SourceFrame> places = places_of(row);
  return places.empty() ? codeobj::SourceFrame{} : places[codeobj::users_frame(places)];
}

}  // namespace wavetap::itrace
