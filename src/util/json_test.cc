#include "util/json.h"
#include "util/json_library.h"

#include <gtest/gtest.h>

namespace wavetap::util {
namespace {

TEST(Json, SaysWhereItEnds) {
  EXPECT_EQ((*parse_json(R"({"a": [1, 2]})"))["a"][1], 2);
  EXPECT_EQ(parse_json("{\"a\" 1}").error().message, "byte 6: is not JSON");
  EXPECT_EQ(parse_json("").error().message, "byte 1: is not JSON");
}

TEST(Json, WhatIsNoneIsDiscarded) {
  EXPECT_EQ(json_line(read_json(R"({"b": 1, "a": 2})")), R"({"b":1,"a":2})");
  EXPECT_TRUE(read_json("{").is_discarded());
  EXPECT_TRUE(read_json("").is_discarded());
  EXPECT_FALSE(read_json("[1e999]").is_array());
}

TEST(Json, RefusesNumbersThatNothingHolds) {
  EXPECT_EQ(parse_json("[1111E1111112]").error().message, "has a number that is too large");
}

// Which would take minutes: each is looked for among those before it.
TEST(Json, RefusesObjectsWithoutEnd) {
  const auto list_of_object_with = [](int members) {
    std::string text = "[{}, {";
    for (int i = 0; i < members; ++i)
      text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{\"\":0}";
    return text + "}]";
  };
  EXPECT_EQ(parse_json(list_of_object_with(1'000'000)).error().message,
            "has an object with more than 10000 members");
  EXPECT_TRUE(read_json(list_of_object_with(10'001)).is_discarded());
  EXPECT_EQ(read_json(list_of_object_with(10'000))[1].size(), 10'000u);
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().message, "byte 1000001: is not JSON");
}

TEST(Json, MembersOfAnotherKindAreNone) {
  const auto json = *parse_json(R"({"count": 7, "less": -7, "half": 0.5, "text": "seven"})");
  EXPECT_EQ(count_in(json, "count"), 7u);
  EXPECT_EQ(count_in(json, "less"), 0u);
  EXPECT_EQ(count_in(json, "half"), 0u);
  EXPECT_EQ(count_in(json, "text"), 0u);
  EXPECT_EQ(number_in(json, "half"), 0.5);
  EXPECT_EQ(number_in(json, "less"), -7);
  EXPECT_EQ(number_in(json, "none"), 0);
  EXPECT_EQ(text_in(json, "text"), "seven");
  EXPECT_EQ(text_in(json, "count"), "");
  const nlohmann::ordered_json list = {1, 2};
  EXPECT_EQ(count_in(list, "count"), 0u);
  EXPECT_EQ(text_in(list, "text"), "");
}

TEST(Json, DocumentsHoldWhatIsNotUtf8) {
  EXPECT_EQ(json_text({{"name", "a\xff"}}), "{\n  \"name\": \"a\xef\xbf\xbd\"\n}\n");
}

}  // namespace
}  // namespace wavetap::util
