#include "util/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace wavetap::util {
namespace {

TEST(Pattern, IsFoundAnywhereInAText) {
  const Result<Pattern> pattern = compile_pattern("b+c");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->is_in("abbcd"));
  EXPECT_FALSE(pattern->is_in("abd"));
  EXPECT_FALSE(Pattern().is_in(""));
}

TEST(Pattern, SearchesTheBeginningOfLongTexts) {
  const Result<Pattern> pattern = compile_pattern("z");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(is_found(*pattern, std::string(4095, 'a') + "z"));
  EXPECT_FALSE(is_found(*pattern, std::string(4096, 'a') + "z"));
  EXPECT_TRUE(pattern->is_in(std::string(4096, 'a') + "z"));
}

TEST(Pattern, TellsWhatItsFirstGroupTook) {
  const Result<Pattern> pattern = compile_pattern("time: ([0-9.]+) ([a-z]+)");
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(pattern->groups(), 2u);
  EXPECT_EQ(pattern->first_group("time: 1.5 ms, time: 2 s"), "1.5");
  EXPECT_EQ(pattern->first_group("none"), std::nullopt);
}

TEST(Pattern, HasTwoSyntaxes) {
  EXPECT_TRUE(compile_pattern("a(?=b)").ok());
  EXPECT_FALSE(compile_pattern("a(?=b)", Syntax::kExtended).ok());
  EXPECT_TRUE(compile_pattern("^[[:digit:]]+$", Syntax::kExtended)->is_in("42"));
}

TEST(Pattern, SaysWhichOneIsNone) {
  const Result<Pattern> pattern = compile_pattern("a(");
  ASSERT_FALSE(pattern.ok());
  EXPECT_EQ(pattern.error().message, "a(: not a regular expression; correct it");
}

}  // namespace
}  // namespace wavetap::util
