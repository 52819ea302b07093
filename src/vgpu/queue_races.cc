#include "vgpu/queue_races.h"

#include <utility>

namespace wavetap::vgpu {
namespace {

// Some 2 KiB each; what is beyond is forgotten, the oldest first.
constexpr size_t kMostPages = 1u << 16;

uint64_t count_of(const QueueCounts& counts, uint32_t queue) {
  const auto found = counts.find(queue);
  return found == counts.end() ? 0 : found->second;
}

QueueRace race_of(const QueueRaces::Ended& earlier, const QueueRaces::Ended& later,
                  const sanitize::FootprintConflict& conflict, const sanitize::MemoryMap& map) {
  QueueRace race;
  sanitize::Finding& finding = race.finding;
  finding.kind = conflict.kind;
  finding.severity = sanitize::row_of(conflict.kind).severity;
  finding.place = later.marks.site_at(conflict.address, conflict.later);
  finding.other = earlier.marks.site_at(conflict.address, conflict.earlier);
  finding.has_other = true;
  finding.other_role = "against";
  finding.space = emu::Space::kGlobal;
  finding.address = conflict.address;
  finding.neighbour = map.neighbour({conflict.address});
  finding.detail = "the other one is " + (earlier.kernel.empty() ? "a kernel" : earlier.kernel) +
                   " in another queue; nothing orders the two, " + std::to_string(conflict.bytes) +
                   " bytes are concerned";
  finding.times = 1;
  finding.lane_count = 1;
  race.other_kernel = earlier.kernel_object;
  return race;
}

}  // namespace

bool QueueRaces::may_overlap(const Record& earlier, const Ended& later) {
  const Ended& first = earlier.dispatch;
  if (first.queue == later.queue) return false;
  // Submitted when the first was over: the host may have waited for it.
  if (later.index >= count_of(earlier.submitted, later.queue)) return false;
  const bool is_after = count_of(later.over_before, first.queue) > first.index;
  const bool is_before = count_of(first.over_before, later.queue) > later.index;
  return !is_after && !is_before;
}

std::vector<QueueRace> QueueRaces::end(Ended dispatch, const sanitize::MemoryMap& map) {
  const QueueCounts submitted = order_.submitted();
  const QueueCounts finished = order_.finished();
  std::vector<QueueRace> races;
  const std::lock_guard lock(mutex_);
  for (const Record& record : records_) {
    if (!may_overlap(record, dispatch)) continue;
    if (const auto conflict = sanitize::find_conflict(record.dispatch.marks, dispatch.marks))
      races.push_back(race_of(record.dispatch, dispatch, *conflict, map));
  }
  records_.push_back({std::move(dispatch), submitted});
  forget(finished);
  return races;
}

// What nothing that is still in a ring can overlap.
void QueueRaces::forget(const QueueCounts& finished) {
  const auto is_past = [&](const Record& record) {
    for (const auto& [queue, count] : record.submitted)
      if (queue != record.dispatch.queue && count_of(finished, queue) < count) return false;
    return true;
  };
  std::erase_if(records_, is_past);
  size_t pages = 0;
  for (const Record& record : records_) pages += record.dispatch.marks.pages.size();
  while (pages > kMostPages && records_.size() > 1) {
    pages -= records_.front().dispatch.marks.pages.size();
    records_.pop_front();
  }
}

}  // namespace wavetap::vgpu
