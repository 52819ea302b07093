#include "tune/bayesian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "tune/gaussian_process.h"
#include "util/random.h"

namespace wavetap::tune {
namespace {

// So many points at most are compared for each proposal, and so many answers are modelled: the cost of
// a proposal grows with the first times the square of the second.
constexpr size_t kMostCandidates = 3000;
constexpr size_t kMostModelled = 300;

// What a value is expected to be better than `best` by.
double expected_improvement(const GaussianProcess::Guess& guess, double best) {
  const double z = (best - guess.mean) / guess.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  return (best - guess.mean) * below + guess.deviation * density;
}

class Bayesian final : public Search {
 public:
  Bayesian(const Space& space, uint64_t seed)
      : space_(space), random_(seed), process_(space.axes()) {
    first_ = std::min(space.size(), 2 * space.parameters().size() + 4);
  }

  std::vector<Proposal> propose(size_t most) override {
    std::vector<Proposal> made;
    imagined_.clear();
    while (made.size() < most) {
      const size_t point = seen_.size() < first_ ? spread_out() : most_promising();
      if (point == SIZE_MAX) break;
      seen_.insert(point);
      made.push_back({point, 1});
    }
    return made;
  }

  void tell(const Answer& answer) override {
    points_.push_back(answer.proposal.point);
    values_.push_back(answer.value);
  }

 private:
  std::vector<size_t> unseen(size_t most) {
    std::vector<size_t> points;
    if (space_.size() <= 2 * most) {
      for (size_t point = 0; point < space_.size(); ++point)
        if (!seen_.contains(point)) points.push_back(point);
      if (points.size() > most) {
        random_.shuffle(points);
        points.resize(most);
      }
      return points;
    }
    std::unordered_set<size_t> drawn;
    for (size_t tries = 0; tries < 4 * most && points.size() < most; ++tries) {
      const size_t point = random_.below(space_.size());
      if (!seen_.contains(point) && drawn.insert(point).second) points.push_back(point);
    }
    return points;
  }

  // Of some random points the one furthest from all that were seen.
  size_t spread_out() {
    std::vector<size_t> candidates = unseen(64);
    random_.shuffle(candidates);
    if (candidates.size() > 32) candidates.resize(32);
    size_t best = SIZE_MAX;
    double best_distance = -1;
    for (const size_t candidate : candidates) {
      const std::vector<double> a = space_.coordinates(candidate);
      double nearest = std::numeric_limits<double>::max();
      for (const size_t other : seen_) {
        const std::vector<double> b = space_.coordinates(other);
        double square = 0;
        for (size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
        nearest = std::min(nearest, square);
      }
      if (nearest > best_distance) {
        best_distance = nearest;
        best = candidate;
      }
    }
    return best;
  }

  size_t most_promising() {
    model();
    std::vector<size_t> candidates = unseen(kMostCandidates);
    const size_t before = candidates.size();
    if (best_point_ != SIZE_MAX && space_.size() > kMostCandidates)
      for (const size_t near : space_.neighbours(best_point_))
        if (!seen_.contains(near)) candidates.push_back(near);
    std::sort(candidates.begin() + static_cast<ptrdiff_t>(before), candidates.end());
    size_t chosen = SIZE_MAX;
    double best = -1;
    GaussianProcess::Guess guess;
    for (const size_t candidate : candidates) {
      const GaussianProcess::Guess at = process_.guess(space_.coordinates(candidate));
      const double improvement = expected_improvement(at, best_value_);
      if (improvement <= best) continue;
      best = improvement;
      chosen = candidate;
      guess = at;
    }
    if (chosen != SIZE_MAX) imagined_.push_back({chosen, guess.mean});
    return chosen;
  }

  // Answers that are no good count as bad as the worst that was seen; points of this proposal, whose
  // answers are not known, as good as the model thinks.
  void model() {
    std::vector<double> known;
    for (const std::optional<double>& value : values_)
      if (value) known.push_back(*value);
    const bool is_positive = !known.empty() && *std::min_element(known.begin(), known.end()) > 0;
    const auto scaled = [&](double value) { return is_positive ? std::log(value) : value; };
    const double worst = known.empty() ? 1 : scaled(*std::max_element(known.begin(), known.end()));
    std::vector<std::pair<double, size_t>> all;
    best_point_ = SIZE_MAX;
    for (size_t i = 0; i < points_.size(); ++i)
      all.push_back({values_[i] ? scaled(*values_[i]) : worst, points_[i]});
    // The best of them, and the latest of the rest.
    if (all.size() > kMostModelled) {
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      all.resize(kMostModelled);
    }
    double mean = 0;
    for (const auto& [value, point] : all) mean += value / static_cast<double>(all.size());
    double variance = 0;
    for (const auto& [value, point] : all)
      variance += (value - mean) * (value - mean) / static_cast<double>(all.size());
    const double deviation = std::sqrt(std::max(variance, 1e-12));
    std::vector<std::vector<double>> points;
    std::vector<double> values;
    best_value_ = std::numeric_limits<double>::max();
    for (const auto& [value, point] : all) {
      points.push_back(space_.coordinates(point));
      values.push_back((value - mean) / deviation);
      if (values.back() < best_value_) {
        best_value_ = values.back();
        best_point_ = point;
      }
    }
    for (const auto& [point, value] : imagined_) {
      points.push_back(space_.coordinates(point));
      values.push_back(value);
    }
    const bool adjust = imagined_.empty() && points_.size() >= adjusted_ + 4;
    if (adjust) adjusted_ = points_.size();
    process_.fit(std::move(points), std::move(values), adjust);
  }

  const Space& space_;
  util::Random random_;
  GaussianProcess process_;
  size_t first_;
  size_t adjusted_ = 0;  // answers when the lengths were last looked at
  std::unordered_set<size_t> seen_;
  std::vector<size_t> points_;
  std::vector<std::optional<double>> values_;
  std::vector<std::pair<size_t, double>> imagined_;  // of this proposal: points and guesses
  double best_value_ = 0;
  size_t best_point_ = SIZE_MAX;
};

}  // namespace

std::unique_ptr<Search> make_bayesian(const Space& space, uint64_t seed) {
  return std::make_unique<Bayesian>(space, seed);
}

}  // namespace wavetap::tune
