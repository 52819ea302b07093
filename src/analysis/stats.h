// Summaries of a sample: sums, percentiles, deviation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wavetap::analysis {

// Nearest-rank percentile of a sorted sample; 0 for an empty one.
inline int64_t percentile(const std::vector<int64_t>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(p / 100 * static_cast<double>(sorted.size()));
  const size_t at =
      static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) - 1;
  return sorted[at];
}

// The same of an unsorted sample, which it reorders: cheaper than sorting when one or two are
// wanted.
inline int64_t select_percentile(std::vector<int64_t>& values, double p) {
  if (values.empty()) return 0;
  const double rank = std::ceil(p / 100 * static_cast<double>(values.size()));
  const auto at =
      static_cast<std::ptrdiff_t>(std::clamp(rank, 1.0, static_cast<double>(values.size()))) - 1;
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Sample standard deviation (n - 1); 0 below two values.
inline double standard_deviation(const std::vector<int64_t>& values) {
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const int64_t v : values) mean += static_cast<double>(v);
  mean /= static_cast<double>(values.size());
  double sum = 0;
  for (const int64_t v : values)
    sum += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace wavetap::analysis
