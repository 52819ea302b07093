// Unions of time intervals: what "busy" means when operations overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wavetap::analysis {

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  auto operator<=>(const Interval&) const = default;
};

// Sorts and merges; touching intervals become one. Empty and negative ones are dropped.
inline std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.begin; });
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.begin <= out.back().end) out.back().end = std::max(out.back().end, i.end);
    else out.push_back(i);
  }
  return out;
}

inline int64_t total_length(const std::vector<Interval>& intervals) {
  int64_t sum = 0;
  for (const Interval& i : intervals) sum += i.end - i.begin;
  return sum;
}

// Both inputs merged; the result is too.
inline std::vector<Interval> intersection(const std::vector<Interval>& a,
                                          const std::vector<Interval>& b) {
  std::vector<Interval> out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval overlap{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (overlap.begin < overlap.end) out.push_back(overlap);
    if (a[i].end < b[j].end) ++i;
    else ++j;
  }
  return out;
}

// The parts of [begin, end) that no interval of the merged list covers.
inline std::vector<Interval> gaps_between(const std::vector<Interval>& busy, int64_t begin,
                                          int64_t end) {
  std::vector<Interval> out;
  int64_t at = begin;
  for (const Interval& i : busy) {
    if (i.begin > at) out.push_back({at, std::min(i.begin, end)});
    at = std::max(at, i.end);
    if (at >= end) return out;
  }
  if (at < end) out.push_back({at, end});
  return out;
}

}  // namespace wavetap::analysis
