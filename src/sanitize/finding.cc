#include "sanitize/finding.h"

#include <bit>
#include <utility>

#include "emu/watch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::sanitize {

const char* mover_name(MoverKind kind) {
  switch (kind) {
    case MoverKind::kNone: return "nobody";
    case MoverKind::kCopy: return "a copy";
    case MoverKind::kFill: return "a fill";
    case MoverKind::kHost: return "an access of the host";
  }
  return "?";
}

const char* relation_name(Relation relation) {
  switch (relation) {
    case Relation::kNone: return "none";
    case Relation::kInside: return "inside";
    case Relation::kPast: return "past";
    case Relation::kBefore: return "before";
  }
  return "?";
}

void Neighbour::relate(uint64_t address) {
  const uint64_t end = begin + size_bytes;
  relation = address < begin ? Relation::kBefore
             : address < end ? Relation::kInside
                             : Relation::kPast;
  distance = relation == Relation::kBefore ? begin - address
             : relation == Relation::kPast ? address - end
                                           : address - begin;
}

void set_thread(Place& place, const emu::Workgroup& group, uint32_t lanes_per_wave) {
  uint32_t item = place.wave * lanes_per_wave + static_cast<uint32_t>(place.lane);
  for (int i = 0; i < 3; ++i) {
    place.thread[i] = item % group.size[i];
    item /= group.size[i];
  }
}

Finding finding_at(Kind kind, const emu::WatchPoint& at, uint64_t lanes) {
  const emu::Workgroup& group = *at.wave.workgroup;
  Finding finding;
  finding.kind = kind;
  finding.severity = row_of(kind).severity;
  Place& place = finding.place;
  place.pc = at.pc;
  for (int i = 0; i < 3; ++i) place.workgroup[i] = group.id[i];
  place.wave = at.wave.wave_in_group;
  place.lane = lanes == 0 ? 0 : std::countr_zero(lanes);
  place.lanes = lanes;
  set_thread(place, group, at.wave.lanes);
  return finding;
}

void set_access(Finding& finding, const emu::MemoryAccess& access) {
  finding.place.has_access = true;
  finding.place.access = access.access;
  finding.place.size_bytes = access.size_bytes;
  finding.space = access.space;
  finding.address = access.address[finding.place.lane];
}

void FindingTable::add(const Finding& instance) {
  add(instance, static_cast<uint32_t>(std::popcount(instance.place.lanes)));
}

void FindingTable::add(const Finding& instance, uint32_t lane_count) {
  const std::lock_guard lock(mutex_);
  const Key key(instance.place.pc.value, instance.kind, instance.severity,
                instance.has_other ? instance.other.pc.value : 0);
  auto found = findings_.find(key);
  if (found == findings_.end()) {
    if (findings_.size() >= kMost) {
      ++dropped_;
      return;
    }
    found = findings_.emplace(key, instance).first;
  }
  ++found->second.times;
  found->second.lane_count += lane_count;
}

std::vector<Finding> FindingTable::take(uint64_t* dropped) {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> all;
  for (auto& [key, finding] : findings_) {
    // Instances of a finding that is an error elsewhere, where they are a warning.
    Key worse = key;
    std::get<Severity>(worse) = Severity::kError;
    const auto found = worse == key ? findings_.end() : findings_.find(worse);
    if (found == findings_.end()) {
      all.push_back(std::move(finding));
      continue;
    }
    found->second.times += finding.times;
    found->second.lane_count += finding.lane_count;
  }
  findings_.clear();
  *dropped = std::exchange(dropped_, 0);
  return all;
}

}  // namespace wavetap::sanitize
