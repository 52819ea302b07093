#include "sanitize/finding.h"

#include <bit>

namespace wavetap::sanitize {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kOutOfBounds: return "out-of-bounds";
    case Kind::kUseAfterFree: return "use-after-free";
    case Kind::kInvalidAddress: return "invalid-address";
    case Kind::kNoAccess: return "no-access";
    case Kind::kLdsOutOfBounds: return "lds-out-of-bounds";
    case Kind::kScratchOutOfBounds: return "scratch-out-of-bounds";
    case Kind::kMisalignedAtomic: return "misaligned-atomic";
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

void FindingTable::add(const Finding& instance) {
  const std::lock_guard lock(mutex_);
  const std::pair key(instance.pc.value, instance.kind);
  auto found = findings_.find(key);
  if (found == findings_.end()) {
    if (findings_.size() >= kMost) {
      ++dropped_;
      return;
    }
    found = findings_.emplace(key, instance).first;
  }
  ++found->second.times;
  found->second.lane_count += static_cast<uint64_t>(std::popcount(instance.lanes));
}

std::vector<Finding> FindingTable::take(uint64_t* dropped) {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> all;
  for (const auto& [key, finding] : findings_) all.push_back(finding);
  findings_.clear();
  *dropped = std::exchange(dropped_, 0);
  return all;
}

}  // namespace wavetap::sanitize
