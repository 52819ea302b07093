#include "util/text.h"

#include <gtest/gtest.h>

namespace wavetap::util {
namespace {

TEST(Text, SplitsAndJoinsWithoutLosingEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  const std::vector<std::string> parts = {"a", "b"};
  EXPECT_EQ(join(parts, ", "), "a, b");
}

TEST(Text, EscapesWhatWouldMoveTheCursorAndKeepsUtf8) {
  EXPECT_EQ(escape_control("a\x1b[2Jb\n"), "a\\x1b[2Jb\\n");
  EXPECT_EQ(escape_control("grün"), "grün");
  EXPECT_EQ(escape_control("\xff"), "\\xff");
  EXPECT_EQ(escape_control("\xc2\x9bm\xc2\xa0"), "\\xc2\\x9bm\xc2\xa0") << "C1 steers, too";
  EXPECT_EQ(escape_control("\xe2\x82"), "\\xe2\\x82") << "a cut sequence is bytes, not a character";
}

TEST(Text, EscapesALineOnceThoughNamesInItAreEscapedAlready) {
  const std::string line = escape_line(escape_control("a\x1b\n") + ": \x1b\n\xff");
  EXPECT_EQ(line, "a\\x1b\\n: \\x1b\\n\\xff");
  EXPECT_EQ(escape_line(line), line);
}

TEST(Text, EscapesLinesSoThatTheyStayLines) {
  EXPECT_EQ(escape_lines("a:\n\tb\\ \x1b\r\n"), "a:\n\tb\\ \\x1b\\x0d\n");
}

TEST(Text, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(valid_utf8("gr\xc3\xbcn \xf0\x9f\x98\x80"), "gr\xc3\xbcn \xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8("k\xed\xa0\x80"), "k\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "a surrogate";
  EXPECT_EQ(valid_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8(""), "");
}

TEST(Text, TakesNothingForUtf8ThatAReaderWouldRefuse) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xbc"), 2u);
  EXPECT_EQ(utf8_length("\xef\xbf\xbd"), 3u);
  EXPECT_EQ(utf8_length("\xed\x9f\xbf"), 3u) << "the last before the surrogates";
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u) << "the last there is";
  for (const char* wrong : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf",
                            "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\xaf", "\xf0\x8f\xbf\xbf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82"})
    EXPECT_EQ(utf8_length(wrong), 0u) << escape_control(wrong);
}

TEST(Text, PrintsSizesInBinaryUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((1ull << 20) - 1), "1.0 MiB") << "never 1024.0 KiB";
  EXPECT_EQ(human_bytes(17163091968), "16.0 GiB");
}

TEST(Text, GroupsDigitsByThree) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1000), "1 000");
  EXPECT_EQ(group_digits(1234567), "1 234 567");
}

TEST(Text, ParsesNumbersWholeOrNotAtAll) {
  EXPECT_EQ(parse_unsigned("42"), 42u);
  EXPECT_EQ(parse_unsigned("0x10"), 16u);
  EXPECT_EQ(parse_unsigned("4k"), 4096u);
  EXPECT_EQ(parse_unsigned("2G"), 2ull << 30);
  EXPECT_EQ(parse_unsigned(""), std::nullopt);
  EXPECT_EQ(parse_unsigned("k"), std::nullopt);
  EXPECT_EQ(parse_unsigned("12x"), std::nullopt);
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
  EXPECT_EQ(parse_unsigned("99999999999g"), std::nullopt) << "overflow";
}

TEST(Text, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> models = {"rx6800xt", "mi210", "mi300x"};
  EXPECT_EQ(nearest_name("rx6800", models), "rx6800xt");
  EXPECT_EQ(nearest_name("mi211", models), "mi210");
  EXPECT_EQ(nearest_name("geforce", models), "");
}

TEST(Text, WrapsAtSpaces) {
  EXPECT_EQ(wrap("one two three", 8), "one two\nthree");
  EXPECT_EQ(wrap("one two", 20, 2), "  one two");
  EXPECT_EQ(wrap("unbreakable", 4), "unbreakable");
}

TEST(Text, CountsCellsNotBytes) {
  EXPECT_EQ(display_width("grün"), 4u);
  EXPECT_EQ(display_width("\x1b[1mbold\x1b[0m"), 4u);
}

TEST(Text, CountsInTheRightNumber) {
  EXPECT_EQ(count_of(1, "dispatch"), "1 dispatch");
  EXPECT_EQ(count_of(2, "captured dispatch"), "2 captured dispatches");
  EXPECT_EQ(count_of(0, "process"), "0 processes");
  EXPECT_EQ(count_of(3, "page"), "3 pages");
}

TEST(Text, ReplacesWithoutLookingAtWhatItPut) {
  std::string text = "a.b.";
  replace_all(text, ".", "..");
  EXPECT_EQ(text, "a..b..");
}

}  // namespace
}  // namespace wavetap::util
