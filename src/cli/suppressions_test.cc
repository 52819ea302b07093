#include "cli/suppressions.h"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

Json finding(const char* kind, const char* kernel, const char* source) {
  return {{"tool", "memcheck"},
          {"severity", "error"},
          {"kind", kind},
          {"kernel", kernel},
          {"source", source}};
}

// How many of these the text suppresses.
uint64_t suppressed_by(const std::string& text, std::vector<Json> findings,
                       size_t* unused = nullptr) {
  const Result<std::vector<Suppression>> parsed = parse_suppressions(text, "s");
  EXPECT_TRUE(parsed.ok());
  SanitizeReport report;
  report.findings = std::move(findings);
  suppress(*parsed, report);
  if (unused != nullptr) *unused = report.unused_suppressions.size();
  return report.suppressed;
}

TEST(Suppressions, MatchKindToolKernelAndPlace) {
  const std::vector<Json> both = {finding("out-of-bounds", "fill(int*, int)", "/a/b.hip:12"),
                                  finding("no-access", "sum(int (&) [4])", "/a/c.h:3")};
  EXPECT_EQ(suppressed_by("out-of-bounds *", both), 1u);
  EXPECT_EQ(suppressed_by("memcheck * # all of it", both), 2u);
  EXPECT_EQ(suppressed_by("* \"sum(*\"\n", both), 1u);
  EXPECT_EQ(suppressed_by("* \"fill(int\\*, int)\" */b.hip:12", both), 1u);
  EXPECT_EQ(suppressed_by("* * */b.hip:13", both), 0u);
  EXPECT_EQ(suppressed_by("* * */c.h", both), 1u);
  size_t unused = 0;
  EXPECT_EQ(suppressed_by("# c\n\n* * */c.h\nraces *\n", both, &unused), 1u);
  EXPECT_EQ(unused, 1u);
}

TEST(Suppressions, KnowTheFunctionsThatWereInlined) {
  Json inlined = finding("no-access", "k", "/lib/x.h:9");
  inlined["frames"] = Json::array({{{"function", "load<int>"}, {"source", "/lib/x.h:9"}},
                                   {{"function", "k"}, {"source", "/a/k.hip:4"}}});
  EXPECT_EQ(suppressed_by("* * load<*", {inlined}), 1u);
  EXPECT_EQ(suppressed_by("* * */k.hip:4", {inlined}), 1u);
  EXPECT_EQ(suppressed_by("* * store<*", {inlined}), 0u);
}

TEST(Suppressions, WrittenOnesSuppressExactlyWhatWasFound) {
  SanitizeReport report;
  report.findings = {finding("no-access", "sum(int (&) [4])", "/a/*.h:3"),
                     finding("no-access", "sum(int (&) [4])", "/a/*.h:3"),
                     finding("out-of-bounds", "operator\"\"_x", "")};
  const std::string text = write_suppressions(report);
  EXPECT_EQ(suppressed_by(text, report.findings), 3u);
  EXPECT_EQ(suppressed_by(text, {finding("no-access", "sum(int (&) [4])", "/a/b.h:3")}), 0u);
  EXPECT_EQ(parse_suppressions(text, "s")->size(), 2u);
}

TEST(Suppressions, SayWhichLineIsNone) {
  for (const char* wrong : {"\n\njust-a-kind", "a \"b", "a b c d"}) {
    const Result<std::vector<Suppression>> parsed = parse_suppressions(wrong, "s.txt");
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_TRUE(parsed.error().message.starts_with(wrong[0] == '\n' ? "s.txt:3: " : "s.txt:1: "));
  }
}

}  // namespace
}  // namespace wavetap::cli
