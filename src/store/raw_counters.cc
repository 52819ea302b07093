#include "store/raw_counters.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "format/session.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::store {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kNsPerTick = 10;
// How far the runtime's idea of a time may be from the GPU's own. Over a long time between two
// samples of the clocks it is more than the usual 40 ns.
constexpr int64_t kNearNs = 10'000;
constexpr uint64_t kFormat = 1;  // of the lines

uint64_t number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

void read_extent(const json& object, const char* key, uint64_t (&extent)[3]) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() != 3) return;
  for (size_t i = 0; i < 3; ++i)
    if ((*found)[i].is_number_unsigned()) extent[i] = (*found)[i].get<uint64_t>();
}

bool has_shape(const RawCounters::Line& line, const format::DispatchRecord& dispatch) {
  for (size_t i = 0; i < 3; ++i)
    if (line.grid[i] != dispatch.grid[i] || line.workgroup[i] != dispatch.workgroup[i])
      return false;
  return true;
}

}  // namespace

uint32_t RawCounters::name(const std::string& text) {
  const auto [at, added] = number_of_name_.try_emplace(text, static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(text);
  return at->second;
}

void RawCounters::add(std::string_view text) {
  const json object = util::read_json(text);
  if (!object.is_object() || !object.contains("counters") ||
      number_of(object, "format") != kFormat) {
    ++unreadable_;
    return;
  }
  constexpr uint64_t kMaxTicks = INT64_MAX / kNsPerTick;
  const auto ns = [&](const char* key) {
    return static_cast<int64_t>(std::min(number_of(object, key), kMaxTicks)) * kNsPerTick;
  };
  Line line{.begin_ns = ns("begin_ticks"), .end_ns = ns("end_ticks"), .first = values_.size()};
  read_extent(object, "grid_size", line.grid);
  read_extent(object, "workgroup_size", line.workgroup);
  // Our names of what the model of caches counts say so.
  constexpr std::pair<const char*, const char*> kGroups[] = {{"counters", ""},
                                                             {"amd", ""},
                                                             {"kinds", ""},
                                                             {"modelled", "modelled."},
                                                             {"amd_modelled", ""}};
  for (const auto& [group, prefix] : kGroups) {
    const auto found = object.find(group);
    if (found == object.end() || !found->is_object()) continue;
    for (const auto& [key, value] : found->items())
      if (value.is_number() && value.get<double>() != 0)
        values_.push_back({name(prefix + key), value.get<double>()});
  }
  line.count = values_.size() - line.first;
  const auto pid = static_cast<uint32_t>(number_of(object, "pid"));
  lines_[{pid, static_cast<uint32_t>(number_of(object, "node"))}].push_back(line);
  ++processes_[pid];
}

RawCounters RawCounters::read(const std::string& folder) {
  RawCounters counters;
  std::ifstream file(folder + "/" + format::kCountersFile);
  for (std::string text; std::getline(file, text);)
    if (!text.empty()) counters.add(text);
  for (auto& [place, lines] : counters.lines_)
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.begin_ns < b.begin_ns; });
  return counters;
}

const RawCounters::Line* RawCounters::take(uint32_t pid, uint32_t node, int64_t start_ns,
                                           int64_t end_ns, const format::DispatchRecord& dispatch) {
  const auto place = lines_.find({pid, node});
  if (place == lines_.end()) return nullptr;
  std::vector<Line>& lines = place->second;
  auto at = std::lower_bound(lines.begin(), lines.end(), start_ns - kNearNs,
                             [](const Line& line, int64_t ns) { return line.begin_ns < ns; });
  Line* nearest = nullptr;
  int64_t least = 2 * kNearNs + 1;
  for (; at != lines.end() && at->begin_ns <= start_ns + kNearNs; ++at) {
    if (at->is_taken || !has_shape(*at, dispatch)) continue;
    const int64_t end_off = std::abs(at->end_ns - end_ns);
    const int64_t off = std::abs(at->begin_ns - start_ns) + end_off;
    if (end_off <= kNearNs && off < least) nearest = &*at, least = off;
  }
  if (nearest != nullptr) nearest->is_taken = true;
  return nearest;
}

}  // namespace wavetap::store
