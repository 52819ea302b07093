// Lanes: intervals that overlap, drawn side by side. Given in order of their start, each goes to the
// first lane that is free by then; no arrangement needs fewer lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace wavetap::analysis {

class Lanes {
 public:
  // The lane of [start, end), counted from 0; one that was not there before is size() - 1 after it.
  size_t place(int64_t start, int64_t end) {
    for (; !taken_.empty() && taken_.top().first <= start; taken_.pop())
      free_.push(taken_.top().second);
    size_t lane = size_;
    if (free_.empty()) {
      ++size_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    taken_.push({std::max(start, end), lane});
    return lane;
  }
  size_t size() const { return size_; }

 private:
  template <class T>
  using Lowest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  Lowest<std::pair<int64_t, size_t>> taken_;  // until when, which
  Lowest<size_t> free_;
  size_t size_ = 0;
};

}  // namespace wavetap::analysis
