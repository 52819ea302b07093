#include "util/extended_pattern.h"

#include <gtest/gtest.h>
#include <regex.h>

#include <regex>

namespace wavetap::util {
namespace {

bool finds(const std::string& extended, const char* text) {
  regex_t compiled;
  if (::regcomp(&compiled, extended.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    ADD_FAILURE() << "not a pattern: " << extended;
    return false;
  }
  const bool found = ::regexec(&compiled, text, 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

constexpr const char* kNames[] = {
    "saxpy(int, float)",
    "void reduce<256, float>(float*, int)",
    "gemm_128x64_f16",
    "a\\b",
    "x-y",
    "x]y",
    "tab\there",
    "",
    "scan_1",
    "Cijk_Ailk_Bljk_SB_MT128x96x8",
    "(anonymous namespace)::k()",
    "a+b?",
    "^caret",
};

// What the standard library's ECMAScript finds, the translation finds, and nothing else.
TEST(ExtendedPattern, FindsWhatEcmascriptFinds) {
  for (const char* const pattern : {"saxpy",
                                    "^void ",
                                    "\\d+x\\d+",
                                    "gemm_\\d{3}x",
                                    "(?:saxpy|scan)_?\\d*",
                                    "reduce<\\d+, \\w+>",
                                    "reduce\\<256",
                                    "\\(int",
                                    "a+?",
                                    "^a.*?b$",
                                    "x\\w",
                                    "x\\W",
                                    "\\s",
                                    "\\S+\\s\\S+",
                                    "[\\w]+\\(",
                                    "[^\\d_]\\(",
                                    "a\\\\b",
                                    "x[\\-]y",
                                    "x[\\]]y",
                                    "[a\\-c]-",
                                    "\\bk\\b",
                                    "\\t",
                                    "[\\t]",
                                    "\\x41",
                                    "\\u0041ilk",
                                    "MT(\\d+)x(\\d+)x(\\d+)$",
                                    "^$",
                                    "a\\+b\\?",
                                    "[[:digit:]]x[[:digit:]]",
                                    "namespace\\)::",
                                    "\\D\\d$",
                                    "^[^(]*$",
                                    "gemm.*f(?:16|32)",
                                    "[\\^]",
                                    "[.*+?]"}) {
    const Result<std::string> extended = to_extended_pattern(pattern);
    ASSERT_TRUE(extended.ok()) << pattern << ": " << extended.error().message;
    const std::regex wanted(pattern);
    for (const char* const name : kNames)
      EXPECT_EQ(finds(*extended, name), std::regex_search(name, wanted))
          << pattern << " as " << *extended << " in " << name;
  }
}

TEST(ExtendedPattern, RefusesWhatNoExtendedPatternCanSay) {
  for (const char* const pattern :
       {"a(?=b)", "a(?!b)", "(?<=a)b", "(a)\\1", "a\\", "[a", "\\q", "[\\D]", "\\x4", "\\u20ac"})
    EXPECT_FALSE(to_extended_pattern(pattern).ok()) << pattern;
}

}  // namespace
}  // namespace wavetap::util
