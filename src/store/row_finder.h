// From ids of the file to row numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::store {

// Row of an id in an ascending column. Ids come in dense runs and are mostly asked for in order, so
// the row that would be right if nothing were missing since the last hit is tried before the binary
// search.
class RowFinder {
 public:
  explicit RowFinder(const std::vector<int64_t>& ids) : ids_(ids) {}

  uint32_t find(int64_t id) {
    if (ids_.empty()) return kNoRow;
    const uint64_t guess = last_ + static_cast<uint64_t>(id) - static_cast<uint64_t>(ids_[last_]);
    if (guess < ids_.size() && ids_[guess] == id) return found(guess);
    const auto it = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (it == ids_.end() || *it != id) return kNoRow;
    return found(static_cast<uint64_t>(it - ids_.begin()));
  }

 private:
  uint32_t found(uint64_t row) {
    last_ = row;
    return static_cast<uint32_t>(row);
  }
  const std::vector<int64_t>& ids_;
  uint64_t last_ = 0;
};

}  // namespace wavetap::store
