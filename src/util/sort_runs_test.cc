#include "util/sort_runs.h"

#include <gtest/gtest.h>

#include <random>

namespace wavetap::util {
namespace {

using Pair = std::pair<int, int>;  // what is sorted by, and where it was

std::vector<Pair> numbered(const std::vector<int>& keys) {
  std::vector<Pair> pairs;
  for (const int key : keys) pairs.emplace_back(key, static_cast<int>(pairs.size()));
  return pairs;
}

void expect_stable_order(const std::vector<int>& keys) {
  const auto less = [](const Pair& a, const Pair& b) { return a.first < b.first; };
  std::vector<Pair> expected = numbered(keys), found = expected;
  std::stable_sort(expected.begin(), expected.end(), less);
  sort_runs(found, less);
  EXPECT_EQ(found, expected);
}

TEST(SortRuns, SortsPiecesThatAscendOrDescend) {
  expect_stable_order({});
  expect_stable_order({1});
  expect_stable_order({2, 1});
  std::vector<int> keys;
  for (int i = 0; i < 300; ++i) keys.push_back(i);
  expect_stable_order(keys);
  for (int i = 200; i > 0; --i) keys.push_back(i);
  expect_stable_order(keys);
  for (int i = 50; i < 400; ++i) keys.push_back(i / 3);
  expect_stable_order(keys);
}

TEST(SortRuns, KeepsTheOrderOfEquals) {
  std::vector<int> keys;
  for (int piece = 0; piece < 5; ++piece)
    for (int i = 100; i > 0; --i) keys.push_back(i / 4);
  expect_stable_order(keys);
  expect_stable_order(std::vector<int>(1000, 7));
}

TEST(SortRuns, SortsWhatHasNoPieces) {
  std::mt19937 random(1);
  for (const int most : {2, 10, 1'000'000}) {
    std::vector<int> keys;
    for (int i = 0; i < 5000; ++i)
      keys.push_back(static_cast<int>(random() % static_cast<unsigned>(most)));
    expect_stable_order(keys);
  }
}

}  // namespace
}  // namespace wavetap::util
