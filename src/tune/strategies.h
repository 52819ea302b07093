// The strategies by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "tune/search.h"
#include "tune/space.h"

namespace wavetap::tune {

enum class Strategy { kExhaustive, kRandom, kHillClimbing, kBayesian, kHalving };
Result<Strategy> parse_strategy(const std::string& name);
std::string name_of(Strategy strategy);

struct SearchSettings {
  Strategy strategy = Strategy::kBayesian;
  uint64_t seed = 1;
  // Halving: points of the first round for each evaluation of the budget, what part of them stays in
  // each round, and how many rounds there are.
  double budget = 100;
  double keep = 1.0 / 3;
  int rounds = 3;
};

// `space` must outlive the search.
std::unique_ptr<Search> make_search(const SearchSettings& settings, const Space& space);

}  // namespace wavetap::tune
