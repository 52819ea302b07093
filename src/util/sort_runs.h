// sort_runs: a stable sort for sequences that are a few sorted pieces one behind the other, as rows of
// a trace are: calls in order, then markers in order; one thread's, then the next one's.
//
// Finds the pieces that ascend, or descend without equal neighbours, and merges them two by two: n log
// (pieces) comparisons, n when it is one piece. Where there are many short pieces, std::stable_sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace wavetap::util {

template <class T, class Less>
void sort_runs(T* const first, T* const last, Less less) {
  constexpr ptrdiff_t kLeastLength = 32;  // of a piece, on average
  std::vector<T*> ends = {first};         // of pieces; the first one's begin before
  const auto most_pieces = static_cast<size_t>((last - first) / kLeastLength + 1);
  for (T* at = first; at != last && ends.size() <= most_pieces;) {
    T* end = at + 1;
    if (end != last && less(*end, *at)) {
      while (end != last && less(*end, end[-1])) ++end;
      std::reverse(at, end);
    } else {
      while (end != last && !less(*end, end[-1])) ++end;
    }
    ends.push_back(end);
    at = end;
  }
  if (ends.back() != last) {
    std::stable_sort(first, last, less);
    return;
  }
  std::vector<T> other(ends.size() > 2 ? static_cast<size_t>(last - first) : 0);
  T *from = first, *to = other.data();
  while (ends.size() > 2) {
    std::vector<T*> merged = {to};
    for (size_t i = 0; i + 1 < ends.size(); i += 2) {
      T* const middle = ends[i + 1];
      T* const end = i + 2 < ends.size() ? ends[i + 2] : middle;
      merged.push_back(std::merge(ends[i], middle, middle, end, merged.back(), less));
    }
    ends = std::move(merged);
    std::swap(from, to);
  }
  if (from != first) std::copy(other.begin(), other.end(), first);
}

template <class T, class Less>
void sort_runs(std::vector<T>& values, Less less) {
  sort_runs(values.data(), values.data() + values.size(), less);
}

}  // namespace wavetap::util
