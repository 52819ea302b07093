// Accuracy of device math functions in units in the last place, measured against the host's wider
// type (double for float, long double or double for double).
#pragma once

#include <functional>
#include <limits>

#include "check.h"

// Distance in ULPs of T between a device result and the more precise reference.
template <class T, class Wide>
double ulp_error(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs((static_cast<Wide>(got) - want) / unit));
}

// One function: what the device computes for every input, the reference and the documented bound.
template <class T, class Wide>
void check_function(const char* name, const std::vector<T>& in, const std::vector<T>& got,
                    double bound, const std::function<Wide(Wide)>& reference) {
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double error = ulp_error<T, Wide>(got[i], reference(static_cast<Wide>(in[i])));
    if (error > worst) worst = error, where = i;
  }
  check::expect(worst <= bound, "%s: %.2f ulp (bound %.1f) at %.17g", name, worst, bound,
                static_cast<double>(in[where]));
}

// Ranges of inputs a function is tried on.
template <class T>
std::vector<T> inputs(double low, double high, bool logarithmic, size_t count) {
  check::Rng rng(static_cast<uint64_t>(count) + static_cast<uint64_t>(high));
  std::vector<T> values;
  while (values.size() < count) {
    const double u = rng.uniform64(0, 1);
    values.push_back(
        static_cast<T>(logarithmic ? low * std::pow(high / low, u) : low + (high - low) * u));
  }
  return values;
}
