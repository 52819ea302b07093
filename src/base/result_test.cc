#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace wavetap {
namespace {

// Tells how many of its kind there are.
struct Counted {
  explicit Counted(int* count) : alive(count) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --*alive; }
  int* alive;
};

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> first = std::make_unique<int>(7);
  Result<std::unique_ptr<int>> second = std::move(first);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(**second, 7);
}

TEST(Result, TakesAnotherInPlaceOfWhatItHeld) {
  const std::string long_enough_for_the_heap(100, 'x');
  Result<std::vector<int>> result = std::vector<int>{1, 2, 3};
  result = errorf("%s", long_enough_for_the_heap.c_str());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, long_enough_for_the_heap);
  result = std::vector<int>{4};
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->at(0), 4);
  result = Result<std::vector<int>>(errorf("again"));
  EXPECT_EQ(result.error().message, "again");
}

TEST(Result, EndsWhatItHolds) {
  int alive = 0;
  {
    Result<Counted> held = Counted(&alive);
    EXPECT_EQ(alive, 1);
    Result<Counted> moved = std::move(held);
    EXPECT_EQ(alive, 2);  // one of them moved from
    held = errorf("no more");
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace wavetap
