#include "util/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace wavetap::util {
namespace {

TEST(Json, SaysWhereItEnds) {
  EXPECT_EQ((*parse_json(R"({"a": [1, 2]})"))["a"][1], 2);
  EXPECT_EQ(parse_json("{\"a\" 1}").error().message, "byte 6: is not JSON");
  EXPECT_EQ(parse_json("").error().message, "byte 1: is not JSON");
}

TEST(Json, RefusesNumbersThatNothingHolds) {
  EXPECT_EQ(parse_json("[1111E1111112]").error().message, "has a number that is too large");
}

}  // namespace
}  // namespace wavetap::util
