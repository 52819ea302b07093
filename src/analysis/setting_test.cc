#include "analysis/setting.h"

#include <gtest/gtest.h>

#include "analysis/registry.h"

namespace wavetap::analysis {
namespace {

constexpr Setting kDepth{.name = "depth",
                         .kind = SettingKind::kWhole,
                         .fallback = "2",
                         .help = "how deep to look",
                         .least = 1,
                         .most = 16};
constexpr Setting kFactor{
    .name = "factor", .kind = SettingKind::kReal, .help = "what to multiply by", .least = 0};
constexpr Setting kBins{.name = "bins",
                        .kind = SettingKind::kBounds,
                        .fallback = "10,100",
                        .help = "bounds in us",
                        .least = 0};
constexpr Setting kFile{.name = "file", .help = "where to read"};
constexpr Setting kKnown[] = {kDepth, kFactor, kBins, kFile};

Result<Settings> parse(std::vector<std::string> assignments) {
  return Settings::parse(kKnown, "sounding", assignments);
}

std::string error_of(const std::string& assignment) {
  const Result<Settings> parsed = parse({assignment});
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(Settings, ReadsEachKind) {
  const Result<Settings> s = parse({"depth=16", "factor=2.5e-1", "bins=1,5,9", "file=a=b"});
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->whole(kDepth), 16);
  EXPECT_EQ(s->real(kFactor), 0.25);
  EXPECT_EQ(s->bounds(kBins), (std::vector<int64_t>{1, 5, 9}));
  EXPECT_EQ(s->text(kFile), "a=b");
}

TEST(Settings, FallsBackToTheDefault) {
  const Result<Settings> s = parse({});
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->whole(kDepth), 2);
  EXPECT_EQ(s->bounds(kBins), (std::vector<int64_t>{10, 100}));
  EXPECT_FALSE(s->has(kFactor));
  EXPECT_TRUE(s->has(kDepth));
  // Settings that nobody parsed behave as if none had been given.
  EXPECT_EQ(Settings().whole(kDepth), 2);
}

TEST(Settings, AnUnknownKeyIsAnError) {
  EXPECT_EQ(error_of("e=5"), "e=5: sounding has no setting e; it has depth, factor, bins, file");
  EXPECT_EQ(error_of("dept=5"),
            "dept=5: sounding has no setting dept; did you mean depth, how deep to look (2)?");
  EXPECT_EQ(error_of("fac=1"),
            "fac=1: sounding has no setting fac; did you mean factor, what to multiply by?");
  const std::vector<std::string> one = {"depth=1"};
  EXPECT_EQ(Settings::parse({}, "busy", one).error().message,
            "depth=1: busy has no settings; leave it out");
}

TEST(Settings, AValueOfAnotherKindIsAnError) {
  EXPECT_EQ(error_of("depth=abc"),
            "depth=abc: not a whole number from 1 to 16; depth: how deep to look (2)");
  EXPECT_EQ(error_of("factor=abc"),
            "factor=abc: not a number of at least 0; factor: what to multiply by");
  for (const char* wrong : {"depth=", "depth=2.0", "depth= 2", "depth=2x", "depth=0x2",
                            "factor=", "factor=1e999", "factor=nan", "factor=inf",
                            "bins=", "bins=1,,2", "bins=1,b", "bins=5,1", "bins=1,1", "file="})
    EXPECT_NE(error_of(wrong).find("not a"), std::string::npos) << wrong;
}

TEST(Settings, AValueOutOfRangeIsAnError) {
  for (const char* wrong :
       {"depth=0", "depth=17", "depth=99999999999999999999", "factor=-1", "bins=-1,2"})
    EXPECT_NE(error_of(wrong).find("not a"), std::string::npos) << wrong;
}

TEST(Settings, AKeyGivenTwiceOrWithoutValueIsAnError) {
  EXPECT_EQ(parse({"depth=1", "depth=2"}).error().message,
            "depth=2: depth is given twice; give it once");
  EXPECT_EQ(error_of("depth"), "depth: no value given; write depth=N: how deep to look (2)");
}

TEST(Settings, EveryDefaultOfEveryAnalysisCanBeGiven) {
  for (const Analysis& analysis : all_analyses())
    for (const Setting& setting : analysis.settings) {
      EXPECT_FALSE(setting.help.empty()) << analysis.name << " " << setting.name;
      if (setting.fallback.empty()) continue;
      const std::vector<std::string> given = {std::string(setting.name) + "=" +
                                              std::string(setting.fallback)};
      EXPECT_TRUE(Settings::parse(analysis.settings, analysis.name, given).ok()) << given[0];
    }
}

}  // namespace
}  // namespace wavetap::analysis
