// Which times can be: what files say is subtracted and summed everywhere, and must not overflow there.
#pragma once

#include <cstdint>

namespace wavetap::store {

// Nanoseconds of any clock, CLOCK_REALTIME until the year 2116 included; merged files may reach below
// zero. Differences of two such times fit.
inline constexpr int64_t kEarliestTime = -(int64_t{1} << 61);
inline constexpr int64_t kLatestTime = int64_t{1} << 62;
// 36 years.
inline constexpr int64_t kLongestTime = int64_t{1} << 60;

constexpr bool can_be_time(int64_t ns) { return ns >= kEarliestTime && ns <= kLatestTime; }

constexpr bool can_be_interval(int64_t start, int64_t end) {
  if (!can_be_time(start) || !can_be_time(end)) return false;
  const int64_t length = end - start;
  return length <= kLongestTime && length >= -kLongestTime;
}

// What cannot be becomes an interval of no length at the end that can; at 0 when neither does.
constexpr void make_interval(int64_t& start, int64_t& end) {
  if (can_be_interval(start, end)) return;
  if (can_be_time(start)) end = start;
  else if (can_be_time(end)) start = end;
  else start = end = 0;
}

}  // namespace wavetap::store
