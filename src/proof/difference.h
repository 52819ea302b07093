// Difference: whether one of two things is faster, from times that scatter.
//
// Runs come in pairs, one of each, the first of a pair taking turns, so that a clock that slows down or
// a busy machine meets both alike. What is estimated is the ratio of the two, from the logarithms of the
// pairs' ratios, with the 95 % interval of Student's t.
#pragma once

#include <string>
#include <vector>

namespace wavetap::proof {

struct Difference {
  size_t pairs = 0;
  double ratio = 1;          // new / old
  double low = 0, high = 0;  // of the 95 % interval; equal to the ratio where nothing scatters

  bool is_lower() const { return pairs > 1 && high < 1; }
  bool is_higher() const { return pairs > 1 && low > 1; }
};

// Of the same length; values that are not positive are an answer that cannot be given: 0 pairs.
Difference compare_pairs(const std::vector<double>& old_values,
                         const std::vector<double>& new_values);
// "0.91x, from 0.88x to 0.94x (95 %, 10 pairs)", "no difference: …".
std::string to_text(const Difference& difference);

}  // namespace wavetap::proof
