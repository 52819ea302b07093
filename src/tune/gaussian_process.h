// GaussianProcess: a smooth function guessed from its values at some points, with how sure the guess is.
//
// Matérn kernel (5/2) with a length for each parameter. Lengths and noise are those under which the
// values are likeliest, found by trying a few for one parameter after the other: coarse, but it needs
// no gradients and always gives the same.
//
// Rasmussen, Williams: Gaussian Processes for Machine Learning, chapters 2 and 5.
#pragma once

#include <cstddef>
#include <vector>

namespace wavetap::tune {

class GaussianProcess {
 public:
  // `axes`: of each coordinate, the parameter it belongs to.
  explicit GaussianProcess(std::vector<size_t> axes);

  // Values are taken as they are: zero mean and unit variance suit it best.
  void fit(std::vector<std::vector<double>> points, std::vector<double> values, bool adjust);

  struct Guess {
    double mean = 0;
    double deviation = 0;
  };
  Guess guess(const std::vector<double>& point) const;

 private:
  double covariance(const std::vector<double>& a, const std::vector<double>& b) const;
  // Factors the covariance of the points; the logarithm of the values' likelihood.
  double factor();
  void adjust_lengths();

  const std::vector<size_t> axes_;
  std::vector<double> lengths_;  // of each parameter
  double noise_ = 1e-3;
  std::vector<std::vector<double>> points_;
  std::vector<double> values_;
  std::vector<double> lower_;    // of the covariance: L, row by row
  std::vector<double> weights_;  // K⁻¹ values
};

}  // namespace wavetap::tune
