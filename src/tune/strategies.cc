#include "tune/strategies.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "tune/bayesian.h"
#include "util/random.h"

namespace wavetap::tune {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

struct StrategyRow {
  Strategy strategy;
  const char* name;
};
constexpr StrategyRow kStrategies[] = {{Strategy::kExhaustive, "exhaustive"},
                                       {Strategy::kRandom, "random"},
                                       {Strategy::kHillClimbing, "hill-climbing"},
                                       {Strategy::kBayesian, "bayesian"},
                                       {Strategy::kHalving, "halving"}};

// Every point once, in a given order.
class Listed final : public Search {
 public:
  explicit Listed(std::vector<size_t> order) : order_(std::move(order)) {}

  std::vector<Proposal> propose(size_t most) override {
    std::vector<Proposal> made;
    for (; made.size() < most && next_ < order_.size(); ++next_) made.push_back({order_[next_], 1});
    return made;
  }
  void tell(const Answer& /*answer*/) override {}

 private:
  std::vector<size_t> order_;
  size_t next_ = 0;
};

std::vector<size_t> in_order(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> shuffled(size_t size, util::Random& random) {
  std::vector<size_t> order = in_order(size);
  random.shuffle(order);
  return order;
}

// From a random point to the better of its neighbours, until none is; then from another one.
class HillClimbing final : public Search {
 public:
  HillClimbing(const Space& space, uint64_t seed)
      : space_(space), random_(seed), starts_(shuffled(space.size(), random_)) {}

  std::vector<Proposal> propose(size_t most) override {
    std::vector<Proposal> made;
    while (made.size() < most) {
      const size_t point = next();
      if (point == SIZE_MAX) break;
      seen_.insert(point);
      made.push_back({point, 1});
    }
    return made;
  }

  void tell(const Answer& answer) override {
    const double value = answer.value.value_or(kWorst);
    if (climbing_ && !(value < here_)) return;
    climbing_ = true;
    here_ = value;
    around_ = space_.neighbours(answer.proposal.point);
    random_.shuffle(around_);
  }

 private:
  // What has not been seen of the neighbourhood, else a new beginning.
  size_t next() {
    while (!around_.empty()) {
      const size_t point = around_.back();
      around_.pop_back();
      if (!seen_.contains(point)) return point;
    }
    climbing_ = false;
    while (!starts_.empty()) {
      const size_t point = starts_.back();
      starts_.pop_back();
      if (!seen_.contains(point)) return point;
    }
    return SIZE_MAX;
  }

  const Space& space_;
  util::Random random_;
  std::vector<size_t> starts_;
  std::unordered_set<size_t> seen_;
  std::vector<size_t> around_;  // of the point climbed to
  bool climbing_ = false;
  double here_ = kWorst;
};

// Many points with a part of the work, the better ones with more of it, the best with all. A round
// begins when the one before is told; when all rounds are over, the next bracket begins with points that
// were not looked at, half of them beside the best.
class Halving final : public Search {
 public:
  Halving(const Space& space, const SearchSettings& settings)
      : space_(space), settings_(settings), random_(settings.seed) {
    fresh_ = shuffled(space.size(), random_);
  }

  std::vector<Proposal> propose(size_t most) override {
    if (queue_.empty()) begin_round();
    std::vector<Proposal> made;
    while (made.size() < most && !queue_.empty()) {
      made.push_back({queue_.front(), part_});
      queue_.pop_front();
    }
    return made;
  }

  void tell(const Answer& answer) override {
    const double value = answer.value.value_or(kWorst);
    told_.push_back({value, answer.proposal.point});
    if (answer.proposal.part >= 1 && value < best_) {
      best_ = value;
      best_point_ = answer.proposal.point;
    }
  }

 private:
  void begin_round() {
    if (round_ + 1 < settings_.rounds && !told_.empty()) ++round_;
    else round_ = 0;
    part_ = std::pow(settings_.keep, settings_.rounds - 1 - round_);
    if (round_ == 0) return begin_bracket();
    std::stable_sort(told_.begin(), told_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const double stay = std::ceil(static_cast<double>(told_.size()) * settings_.keep);
    for (size_t i = 0; i < std::min(told_.size(), static_cast<size_t>(stay)); ++i)
      if (told_[i].first < kWorst) queue_.push_back(told_[i].second);
    told_.clear();
    if (queue_.empty()) begin_round();
  }

  void begin_bracket() {
    told_.clear();
    const double rounds_cost = settings_.rounds * std::pow(settings_.keep, settings_.rounds - 1);
    const double wanted = settings_.budget / 2 / std::max(rounds_cost, 1e-9);
    const size_t count = std::max<size_t>(9, static_cast<size_t>(wanted));
    if (best_point_ != SIZE_MAX) {
      for (const size_t near : space_.neighbours(best_point_))
        if (queue_.size() < count / 2 && seen_.insert(near).second) queue_.push_back(near);
    }
    while (queue_.size() < count && !fresh_.empty()) {
      if (seen_.insert(fresh_.back()).second) queue_.push_back(fresh_.back());
      fresh_.pop_back();
    }
  }

  const Space& space_;
  const SearchSettings settings_;
  util::Random random_;
  std::vector<size_t> fresh_;
  std::unordered_set<size_t> seen_;
  std::deque<size_t> queue_;
  std::vector<std::pair<double, size_t>> told_;  // of this round
  int round_ = 0;
  double part_ = 1;
  double best_ = kWorst;
  size_t best_point_ = SIZE_MAX;
};

}  // namespace

Result<Strategy> parse_strategy(const std::string& name) {
  for (const StrategyRow& row : kStrategies)
    if (name == row.name) return row.strategy;
  return errorf(
      "%s: not a strategy; there are exhaustive, random, hill-climbing, bayesian, halving",
      name.c_str());
}

std::string name_of(Strategy strategy) {
  for (const StrategyRow& row : kStrategies)
    if (row.strategy == strategy) return row.name;
  return "";
}

std::unique_ptr<Search> make_search(const SearchSettings& settings, const Space& space) {
  util::Random random(settings.seed);
  switch (settings.strategy) {
    case Strategy::kExhaustive: return std::make_unique<Listed>(in_order(space.size()));
    case Strategy::kRandom: return std::make_unique<Listed>(shuffled(space.size(), random));
    case Strategy::kHillClimbing: return std::make_unique<HillClimbing>(space, settings.seed);
    case Strategy::kBayesian: return make_bayesian(space, settings.seed);
    case Strategy::kHalving: return std::make_unique<Halving>(space, settings);
  }
  return nullptr;
}

}  // namespace wavetap::tune
