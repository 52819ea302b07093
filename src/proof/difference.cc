#include "proof/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wavetap::proof {
namespace {

// Two-sided 95 % points of Student's t, by degrees of freedom from 1.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

double student(size_t freedom) {
  return freedom <= std::size(kStudent) ? kStudent[freedom - 1] : 1.96;
}

}  // namespace

Difference compare_pairs(const std::vector<double>& old_values,
                         const std::vector<double>& new_values) {
  Difference difference;
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(old_values.size(), new_values.size()); ++i) {
    if (!(old_values[i] > 0) || !(new_values[i] > 0)) return difference;
    logs.push_back(std::log(new_values[i] / old_values[i]));
  }
  if (logs.empty()) return difference;
  const auto count = static_cast<double>(logs.size());
  double mean = 0;
  for (const double value : logs) mean += value / count;
  double square = 0;
  for (const double value : logs) square += (value - mean) * (value - mean);
  double half = 0;
  if (logs.size() > 1) half = student(logs.size() - 1) * std::sqrt(square / (count - 1) / count);
  difference.pairs = logs.size();
  difference.ratio = std::exp(mean);
  difference.low = std::exp(mean - half);
  difference.high = std::exp(mean + half);
  return difference;
}

std::string to_text(const Difference& difference) {
  if (difference.pairs == 0) return "not compared";
  std::string text;
  if (!difference.is_lower() && !difference.is_higher()) text = "no difference: ";
  return text + fmt::format("{:.3g}x, from {:.3g}x to {:.3g}x (95 %, {} pairs)", difference.ratio,
                            difference.low, difference.high, difference.pairs);
}

}  // namespace wavetap::proof
