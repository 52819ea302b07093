// From a foreign 64-bit id to a small number.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace wavetap::store {

// Ids come in dense runs (one per session), so each run of 2^32 gets a plain vector while that stays
// small, and a hash map when it does not. Any thread may ask once all are added.
class IdMap {
 public:
  static constexpr uint32_t kMissing = 0xffffffffu;

  void add(int64_t id, uint32_t value) {
    std::vector<uint32_t>& run = runs_[id >> 32];
    if (first_ == nullptr) {
      first_ = &run;  // maps do not move what they hold
      first_key_ = id >> 32;
    }
    const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
    if (low < run.size() * 4 + 4096) {
      if (low >= run.size()) run.resize(low + 1, kMissing);
      run[low] = value;
    } else {
      sparse_[id] = value;
    }
  }

  uint32_t find(int64_t id) const {
    // Most files have one session only.
    if (const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
        id >> 32 == first_key_ && low < first_->size() && (*first_)[low] != kMissing)
      return (*first_)[low];
    if (const auto run = runs_.find(id >> 32); run != runs_.end()) {
      const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
      if (low < run->second.size() && run->second[low] != kMissing) return run->second[low];
    }
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? kMissing : found->second;
  }

 private:
  std::unordered_map<int64_t, std::vector<uint32_t>> runs_;
  std::unordered_map<int64_t, uint32_t> sparse_;
  const std::vector<uint32_t>* first_ = nullptr;             // one of runs_
  int64_t first_key_ = std::numeric_limits<int64_t>::min();  // no id has it
};

}  // namespace wavetap::store
