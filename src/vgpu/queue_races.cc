#include "vgpu/queue_races.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "vgpu/queue_state.h"

namespace wavetap::vgpu {
namespace {

// Some 2 KiB each; what is beyond is forgotten, the oldest first. Copies have none.
constexpr size_t kMostPages = 1u << 16;
constexpr size_t kMostRecords = 1u << 12;

// What the host does itself: a queue of its own, whose number no other has.
constexpr uint32_t kHostQueue = std::numeric_limits<uint32_t>::max();

using Ended = QueueRaces::Ended;

uint64_t count_of(const QueueCounts& counts, uint32_t queue) {
  const auto found = counts.find(queue);
  return found == counts.end() ? 0 : found->second;
}

std::optional<sanitize::FootprintConflict> find_conflict(const Ended& earlier, const Ended& later) {
  using sanitize::find_conflict;
  if (earlier.kernel != nullptr)
    return later.kernel != nullptr ? find_conflict(earlier.marks, later.marks)
                                   : find_conflict(earlier.marks, later.ranges);
  return later.kernel != nullptr ? find_conflict(earlier.ranges, later.marks)
                                 : find_conflict(earlier.ranges, later.ranges);
}

bool is_in(std::span<const sanitize::MovedRange> ranges, uint64_t begin, uint64_t end) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const sanitize::MovedRange& range) {
    return range.begin < end && begin < range.end();
  });
}

// Whether the host and a kernel that runs may have told each other something: the kernel has looked, past the caches, at memory
// of the host's, or has stored to it elsewhere than where the host copies. What the host's side of it did nobody sees.
bool may_have_talked(const sanitize::FootprintMarks& kernel,
                     std::span<const sanitize::MovedRange> copied, const sanitize::MemoryMap& map) {
  using sanitize::PageMarks;
  using sanitize::PageUse;
  for (const std::unique_ptr<PageMarks>& page : kernel.pages.all()) {
    const uint64_t begin = page->number * PageMarks::kBytes;
    uint64_t looked = 0;
    uint64_t told = 0;
    for (size_t line = 0; line < PageMarks::kLines; ++line) {
      looked |= page->line(PageUse::kPastCache, line) | page->line(PageUse::kAtomic, line);
      told |= page->line(PageUse::kWritten, line);
    }
    if (looked == 0 && (told == 0 || is_in(copied, begin, begin + PageMarks::kBytes))) continue;
    const char* const memory = map.neighbour({begin}).memory;
    if (memory != nullptr && std::strcmp(memory, "VRAM") != 0) return true;
  }
  return false;
}

// Of a copy of the host's and a kernel.
bool may_be_told(const Ended& one, const Ended& other, const sanitize::MemoryMap& map) {
  if (one.mover.what == sanitize::MoverKind::kHost)
    return other.kernel != nullptr && may_have_talked(other.marks, one.ranges, map);
  return other.mover.what == sanitize::MoverKind::kHost && may_be_told(other, one, map);
}

sanitize::Place side_of(const Ended& ended, uint64_t address, sanitize::PageUse use) {
  if (ended.kernel != nullptr) return ended.marks.site_at(address, use);
  sanitize::Place place;
  place.has_access = true;
  const bool is_write = use == sanitize::PageUse::kWritten;
  place.access = is_write ? emu::Access::kStore : emu::Access::kLoad;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  place.size_bytes = static_cast<uint32_t>(std::min(ended.mover.size_bytes, kMost));
  return place;
}

std::string name_of(const Ended& ended) {
  if (ended.kernel != nullptr) return ended.kernel->name.empty() ? "a kernel" : ended.kernel->name;
  const bool is_host = ended.mover.what == sanitize::MoverKind::kHost;
  return (is_host ? "a copy" : std::string(sanitize::mover_name(ended.mover.what))) + " of " +
         std::to_string(ended.mover.size_bytes) + " bytes";
}

QueueRace race_of(const Ended& earlier, const Ended& later,
                  const sanitize::FootprintConflict& conflict, const sanitize::MemoryMap& map) {
  const bool is_turned = later.kernel == nullptr && earlier.kernel != nullptr;
  const Ended& mine = is_turned ? earlier : later;
  const Ended& other = is_turned ? later : earlier;
  QueueRace race;
  sanitize::Finding& finding = race.finding;
  finding.kind = conflict.kind;
  finding.severity = sanitize::row_of(conflict.kind).severity;
  finding.place = side_of(mine, conflict.address, is_turned ? conflict.earlier : conflict.later);
  finding.mover = mine.mover;
  finding.other = side_of(other, conflict.address, is_turned ? conflict.later : conflict.earlier);
  finding.other_mover = other.mover;
  finding.has_other = true;
  finding.other_role = "against";
  finding.space = emu::Space::kGlobal;
  finding.address = conflict.address;
  finding.neighbour = map.neighbour({conflict.address});
  const bool is_host = other.mover.what == sanitize::MoverKind::kHost;
  finding.detail = "the other one is " + name_of(other) +
                   (is_host ? " by the host" : " in another queue") + "; nothing orders the two, " +
                   std::to_string(conflict.bytes) + " bytes are concerned";
  finding.times = 1;
  finding.lane_count = 1;
  race.kernel = mine.kernel;
  race.other_kernel = other.kernel;
  return race;
}

}  // namespace

bool QueueRaces::may_overlap(const Record& earlier, const Ended& later) {
  const Ended& first = earlier.ended;
  if (first.queue == later.queue) return false;
  // Submitted when the first was over: the host may have waited for it.
  if (later.index >= count_of(earlier.submitted, later.queue)) return false;
  const bool is_after = count_of(later.over_before, first.queue) > first.index;
  const bool is_before = count_of(first.over_before, later.queue) > later.index;
  return !is_after && !is_before;
}

std::vector<QueueRace> QueueRaces::end(Ended ended, const sanitize::MemoryMap& map) {
  return add(std::move(ended), order_.submitted(), map);
}

std::vector<QueueRace> QueueRaces::add(Ended ended, const QueueCounts& submitted,
                                       const sanitize::MemoryMap& map) {
  const QueueCounts finished = order_.finished();
  std::vector<QueueRace> races;
  const std::lock_guard lock(mutex_);
  for (const Record& record : records_) {
    if (!may_overlap(record, ended)) continue;
    const auto conflict = find_conflict(record.ended, ended);
    if (conflict && !may_be_told(record.ended, ended, map))
      races.push_back(race_of(record.ended, ended, *conflict, map));
  }
  records_.push_back({std::move(ended), submitted});
  forget(finished);
  return races;
}

void QueueRaces::moved(const Queue& queue, uint64_t index,
                       std::span<const sanitize::MovedRange> ranges, uint64_t time_ns) {
  const QueueCounts over_before = order_.over_before(queue);
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = copies_.try_emplace(queue.id);
  Ended& copy = at->second;
  if (is_new) {
    copy.queue = queue.id;
    copy.over_before = over_before;
    copy.mover.what = sanitize::MoverKind::kFill;
    copy.mover.time_ns = time_ns;
  }
  copy.index = index;
  for (const sanitize::MovedRange& range : ranges) {
    sanitize::add_range(copy.ranges, range);
    uint64_t& begin = range.is_write ? copy.mover.to : copy.mover.from;
    if (begin == 0) begin = range.begin;
    if (range.is_write) copy.mover.size_bytes += range.size_bytes;
    else copy.mover.what = sanitize::MoverKind::kCopy;
  }
}

std::vector<QueueRace> QueueRaces::end_copy(const Queue& queue, const sanitize::MemoryMap& map) {
  Ended copy;
  {
    const std::lock_guard lock(mutex_);
    const auto open = copies_.find(queue.id);
    if (open == copies_.end()) return {};
    copy = std::move(open->second);
    copies_.erase(open);
  }
  return end(std::move(copy), map);
}

std::vector<QueueRace> QueueRaces::end_host_copy(std::span<const sanitize::MovedRange> ranges,
                                                 const QueueCounts& submitted, uint64_t time_ns,
                                                 const sanitize::MemoryMap& map) {
  Ended copy;
  copy.queue = kHostQueue;
  copy.over_before = order_.finished();
  copy.mover.what = sanitize::MoverKind::kHost;
  copy.mover.time_ns = time_ns;
  for (const sanitize::MovedRange& range : ranges) {
    sanitize::add_range(copy.ranges, range);
    (range.is_write ? copy.mover.to : copy.mover.from) = range.begin;
    copy.mover.size_bytes = range.size_bytes;
  }
  {
    const std::lock_guard lock(mutex_);
    copy.index = host_copies_++;
  }
  return add(std::move(copy), submitted, map);
}

// What nothing that is still in a ring can overlap.
void QueueRaces::forget(const QueueCounts& finished) {
  const auto is_past = [&](const Record& record) {
    for (const auto& [queue, count] : record.submitted)
      if (queue != record.ended.queue && count_of(finished, queue) < count) return false;
    return true;
  };
  std::erase_if(records_, is_past);
  size_t pages = 0;
  for (const Record& record : records_) pages += record.ended.marks.pages.size();
  while ((pages > kMostPages || records_.size() > kMostRecords) && records_.size() > 1) {
    pages -= records_.front().ended.marks.pages.size();
    records_.pop_front();
  }
}

}  // namespace wavetap::vgpu
