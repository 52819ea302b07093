#include "export/sink.h"

#include <gtest/gtest.h>

namespace wavetap::exporter {
namespace {

std::string json(std::string_view text) {
  Sink sink = Sink::in_memory();
  sink.json_string(text);
  return std::string(sink.memory());
}

TEST(Sink, EscapesWhatJsonDoesNotTake) {
  EXPECT_EQ(json("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(json("gr\xc3\xbcn"), "\"gr\xc3\xbcn\"");
}

TEST(Sink, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(json("a\xff"), "\"a" + replacement + "\"");
  // Half of a UTF-16 pair, and a slash in three bytes: JSON readers refuse both.
  EXPECT_EQ(json("\xed\xa0\x80"), "\"" + replacement + replacement + replacement + "\"");
  EXPECT_EQ(json("\xe0\x80\xaf"), "\"" + replacement + replacement + replacement + "\"");
}

}  // namespace
}  // namespace wavetap::exporter
