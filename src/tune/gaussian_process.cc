#include "tune/gaussian_process.h"

#include <algorithm>
#include <cmath>

namespace wavetap::tune {
namespace {

constexpr double kLengths[] = {0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 5.0};
constexpr double kNoises[] = {1e-4, 1e-3, 1e-2, 1e-1};

}  // namespace

GaussianProcess::GaussianProcess(std::vector<size_t> axes)
    : axes_(std::move(axes)),
      lengths_(axes_.empty() ? 1 : *std::max_element(axes_.begin(), axes_.end()) + 1, 0.6) {}

double GaussianProcess::covariance(const std::vector<double>& a,
                                   const std::vector<double>& b) const {
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = (a[i] - b[i]) / lengths_[axes_[i]];
    square += d * d;
  }
  const double r = std::sqrt(5 * square);
  return (1 + r + r * r / 3) * std::exp(-r);
}

double GaussianProcess::factor() {
  const size_t n = points_.size();
  lower_.assign(n * n, 0);
  double log_determinant = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = covariance(points_[i], points_[j]) + (i == j ? noise_ : 0);
      for (size_t k = 0; k < j; ++k) sum -= lower_[i * n + k] * lower_[j * n + k];
      lower_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / lower_[j * n + j];
    }
    log_determinant += std::log(lower_[i * n + i]);
  }
  weights_ = values_;
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) weights_[i] -= lower_[i * n + k] * weights_[k];
    weights_[i] /= lower_[i * n + i];
  }
  double square = 0;
  for (const double weight : weights_) square += weight * weight;
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) weights_[i] -= lower_[k * n + i] * weights_[k];
    weights_[i] /= lower_[i * n + i];
  }
  return -0.5 * square - log_determinant;
}

void GaussianProcess::adjust_lengths() {
  double best = factor();
  const auto try_values = [&](double& parameter, const auto& values) {
    double chosen = parameter;
    for (const double value : values) {
      parameter = value;
      const double likelihood = factor();
      if (likelihood > best + 1e-9) {
        best = likelihood;
        chosen = value;
      }
    }
    parameter = chosen;
  };
  for (int round = 0; round < 2; ++round) {
    for (double& length : lengths_) try_values(length, kLengths);
    try_values(noise_, kNoises);
  }
}

void GaussianProcess::fit(std::vector<std::vector<double>> points, std::vector<double> values,
                          bool adjust) {
  points_ = std::move(points);
  values_ = std::move(values);
  if (adjust) adjust_lengths();
  factor();
}

GaussianProcess::Guess GaussianProcess::guess(const std::vector<double>& point) const {
  const size_t n = points_.size();
  std::vector<double> k(n);
  Guess guess;
  for (size_t i = 0; i < n; ++i) {
    k[i] = covariance(point, points_[i]);
    guess.mean += k[i] * weights_[i];
  }
  double variance = 1;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) k[i] -= lower_[i * n + j] * k[j];
    k[i] /= lower_[i * n + i];
    variance -= k[i] * k[i];
  }
  guess.deviation = std::sqrt(std::max(variance, 1e-12));
  return guess;
}

}  // namespace wavetap::tune
