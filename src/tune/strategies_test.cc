#include "tune/strategies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace wavetap::tune {
namespace {

Parameter numbers(const char* name, std::vector<double> values) {
  Parameter parameter{name, {}, true};
  for (const double value : values) parameter.values.emplace_back(value);
  return parameter;
}

// The 2 000 variants of a tiled matmul, and the time of each: evaluated once, by tests/lab/tiled_table.py.
struct Matmul {
  Space space;
  std::map<std::vector<int>, double> times;  // nanoseconds; not there: no good
  double best = std::numeric_limits<double>::infinity();

  std::optional<double> time(size_t point) const {
    const Values values = space.values(point);
    std::vector<int> key;
    for (const char* name : {"SIDE", "ROWS", "COLUMNS", "DEPTH", "UNROLL", "PAD"})
      key.push_back(static_cast<int>(std::get<double>(values.at(name))));
    const auto found = times.find(key);
    return found == times.end() ? std::nullopt : std::optional(found->second);
  }
};

Matmul read_matmul() {
  const auto condition = [](const char* text) { return *Expression::parse(text); };
  std::vector<Expression> conditions;
  conditions.push_back(condition("SIDE * ROWS <= 64"));
  conditions.push_back(condition("SIDE * COLUMNS <= 64"));
  Matmul made{
      *Space::make({numbers("SIDE", {4, 8, 16}), numbers("ROWS", {1, 2, 4, 8, 16}),
                    numbers("COLUMNS", {1, 2, 4, 8, 16}), numbers("DEPTH", {4, 8, 16, 32, 64}),
                    numbers("UNROLL", {1, 2, 4, 8}), numbers("PAD", {0, 1})},
                   std::move(conditions)),
      {}};
  std::ifstream table(WT_SOURCE_DIR "/tests/lab/tiled_times.csv");
  for (std::string line; std::getline(table, line);) {
    int side = 0, rows = 0, columns = 0, depth = 0, unroll = 0, pad = 0;
    double time = 0;
    if (std::sscanf(line.c_str(), "%d,%d,%d,%d,%d,%d,%lf", &side, &rows, &columns, &depth, &unroll,
                    &pad, &time) != 7)
      continue;
    made.times[{side, rows, columns, depth, unroll, pad}] = time;
    made.best = std::min(made.best, time);
  }
  return made;
}

struct Course {
  std::vector<double> best;  // after each evaluation
};

// So many evaluations.
Course follow(const Matmul& matmul, SearchSettings settings, size_t evaluations) {
  Course course;
  const std::unique_ptr<Search> search = make_search(settings, matmul.space);
  double best = std::numeric_limits<double>::infinity();
  while (course.best.size() < evaluations) {
    const std::vector<Proposal> proposals = search->propose(1);
    if (proposals.empty()) break;
    const std::optional<double> value = matmul.time(proposals[0].point);
    if (value) best = std::min(best, *value);
    course.best.push_back(best);
    search->tell({proposals[0], value});
  }
  return course;
}

// Evaluations until something is within 10 % of the best, those of a part of the workgroups counted as that part.
double evaluations_until(const Matmul& matmul, SearchSettings settings, double most) {
  const std::unique_ptr<Search> search = make_search(settings, matmul.space);
  double spent = 0;
  while (spent < most) {
    const std::vector<Proposal> proposals = search->propose(1);
    if (proposals.empty()) break;
    const Proposal& proposal = proposals[0];
    spent += proposal.part;
    std::optional<double> value = matmul.time(proposal.point);
    if (value && proposal.part == 1 && *value <= matmul.best * 1.1) return spent;
    if (value) *value *= proposal.part;
    search->tell({proposal, value});
  }
  return most + 1;
}

// The table of docs/tune.md is what this prints.
TEST(Search, TheBestOfTwoThousandIsFoundWithinFivePercentOfTheEvaluations) {
  const Matmul matmul = read_matmul();
  ASSERT_EQ(matmul.space.size(), 2000u);
  ASSERT_EQ(matmul.times.size(), 2000u);
  constexpr uint64_t kSeeds = 32;
  std::map<Strategy, double> sums;
  for (const Strategy strategy :
       {Strategy::kBayesian, Strategy::kHalving, Strategy::kHillClimbing, Strategy::kRandom}) {
    const bool is_limited = strategy == Strategy::kBayesian || strategy == Strategy::kHalving;
    double most = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const double needed = evaluations_until(
          matmul, {.strategy = strategy, .seed = seed, .budget = 100}, is_limited ? 100 : 2000);
      EXPECT_LE(needed, strategy == Strategy::kBayesian ? 100 : 2000) << "seed " << seed;
      sums[strategy] += needed;
      most = std::max(most, needed);
    }
    std::printf("%s: %.0f evaluations on average, %.0f at most\n", name_of(strategy).c_str(),
                sums[strategy] / kSeeds, most);
  }
  EXPECT_GE(sums[Strategy::kRandom], 3 * sums[Strategy::kBayesian]);
}

TEST(Search, EveryStrategyProposesEachPointOnceAndEnds) {
  const Space space = *Space::make({numbers("A", {1, 2, 3, 4}), numbers("B", {1, 2, 3})}, {});
  for (const Strategy strategy :
       {Strategy::kExhaustive, Strategy::kRandom, Strategy::kHillClimbing, Strategy::kBayesian}) {
    const std::unique_ptr<Search> search = make_search({.strategy = strategy, .seed = 3}, space);
    std::multiset<size_t> seen;
    for (std::vector<Proposal> asked = search->propose(5); !asked.empty();
         asked = search->propose(5)) {
      ASSERT_LE(asked.size(), 5u);
      for (const Proposal& proposal : asked) {
        seen.insert(proposal.point);
        std::optional<double> value = static_cast<double>(proposal.point);
        if (proposal.point % 3 == 0) value.reset();
        search->tell({proposal, value});
      }
      ASSERT_LE(seen.size(), 12u) << name_of(strategy);
    }
    EXPECT_EQ(seen.size(), 12u) << name_of(strategy);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 12u) << name_of(strategy);
  }
}

TEST(Search, HillClimbingReachesTheTopOfASlope) {
  std::vector<double> steps;
  for (int i = 0; i < 40; ++i) steps.push_back(i);
  const Space space = *Space::make({numbers("A", steps), numbers("B", steps)}, {});
  const std::unique_ptr<Search> search =
      make_search({.strategy = Strategy::kHillClimbing, .seed = 7}, space);
  double best = 1e9;
  for (int i = 0; i < 300; ++i) {
    const std::vector<Proposal> asked = search->propose(1);
    const Values values = space.values(asked[0].point);
    const double value =
        std::get<double>(values.at("A")) + std::fabs(std::get<double>(values.at("B")) - 20);
    best = std::min(best, value);
    search->tell({asked[0], value});
  }
  EXPECT_EQ(best, 0);
}

TEST(Search, HalvingLooksBrieflyAtManyAndWhollyAtTheBest) {
  const Matmul matmul = read_matmul();
  const std::unique_ptr<Search> search =
      make_search({.strategy = Strategy::kHalving, .seed = 5, .budget = 100}, matmul.space);
  double spent = 0;
  double best = std::numeric_limits<double>::infinity();
  size_t briefly = 0;
  while (spent < 100) {
    const std::vector<Proposal> asked = search->propose(4);
    ASSERT_FALSE(asked.empty());
    for (const Proposal& proposal : asked) {
      spent += proposal.part;
      briefly += proposal.part < 0.2 ? 1 : 0;
      std::optional<double> value = matmul.time(proposal.point);
      if (value && proposal.part == 1) best = std::min(best, *value);
      if (value) *value *= proposal.part;
      search->tell({proposal, value});
    }
  }
  EXPECT_GT(briefly, 100u);
  EXPECT_LE(best, matmul.best * 1.1);
}

TEST(Search, TheSameAnswersGiveTheSameProposals) {
  const Matmul matmul = read_matmul();
  for (const Strategy strategy :
       {Strategy::kRandom, Strategy::kHillClimbing, Strategy::kBayesian}) {
    const Course once = follow(matmul, {.strategy = strategy, .seed = 9}, 40);
    EXPECT_EQ(once.best, follow(matmul, {.strategy = strategy, .seed = 9}, 40).best);
  }
}

TEST(Space, ConditionsLeaveOutCombinations) {
  const Result<Expression> condition = Expression::parse("A * B <= 6 && A != 2");
  ASSERT_TRUE(condition.ok());
  const Space space =
      *Space::make({numbers("A", {1, 2, 3}), numbers("B", {1, 2, 3})}, {*condition});
  EXPECT_EQ(space.size(), 5u);
  EXPECT_EQ(space.find({{"A", 2.0}, {"B", 1.0}}), SIZE_MAX);
  const size_t point = space.find({{"A", 3.0}, {"B", 2.0}});
  ASSERT_NE(point, SIZE_MAX);
  EXPECT_EQ(std::get<double>(space.values(point).at("B")), 2.0);
}

TEST(Expression, ComputesAndRefuses) {
  const Values values = {{"N", 100.0}, {"T", 16.0}, {"layout", std::string("rows")}};
  const auto number = [&](const char* text) {
    const Result<Expression> parsed = Expression::parse(text);
    EXPECT_TRUE(parsed.ok()) << text;
    const Result<double> value = parsed->number(values);
    return value.ok() ? *value : NAN;
  };
  EXPECT_EQ(number("ceil(N / T)"), 7);
  EXPECT_EQ(number("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(number("-(N % T) + max(1, 2)"), -2);
  EXPECT_EQ(number("layout == 'rows' && !(T < 16)"), 1);
  EXPECT_EQ(number("T >= 16 || missing"), 1);
  EXPECT_TRUE(std::isnan(number("missing + 1")));
  EXPECT_TRUE(std::isnan(number("layout + 1")));
  EXPECT_TRUE(std::isnan(number("1 / 0")));
  for (const char* bad : {"", "1 +", "(1", "1 2", "sin(1)", "'a", "min(1)", "&& 1"})
    EXPECT_FALSE(Expression::parse(bad).ok()) << bad;
  EXPECT_FALSE(Expression::parse(std::string(100000, '(')).ok());
}

TEST(Value, SubstitutesNamesAndLeavesOtherBraces) {
  EXPECT_EQ(substitute("-DT={T} ${HOME} {other} {w}", {{"T", 16.0}, {"w", std::string("a b")}}),
            "-DT=16 ${HOME} {other} a b");
}

}  // namespace
}  // namespace wavetap::tune
