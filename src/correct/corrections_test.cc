#include "correct/corrections.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace wavetap::correct {
namespace {

std::vector<std::string> g_reports;
void note(void*, Field field, const char* before, const char* after) {
  g_reports.push_back(std::string(field_name(field)) + " " + before + " -> " + after);
}

template <class T>
T at(const std::vector<char>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(Corrections, ReadsEveryField) {
  Corrections c;
  ASSERT_TRUE(parse_corrections(
      "multiprocessors=36,clock-mhz=2575,wave-size=32,lds-bytes=65536,arch=gfx1030", c));
  for (const bool has : c.has) EXPECT_TRUE(has);
  EXPECT_EQ(c.number[0], 36u);
  EXPECT_STREQ(c.arch, "gfx1030");
}

TEST(Corrections, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"multiprocessor=3", "multiprocessors", "multiprocessors=",
                           "clock-mhz=-1", "clock-mhz=0", "wave-size=32x", "arch=", "=3"}) {
    Corrections c;
    EXPECT_FALSE(parse_corrections(text, c)) << text;
  }
  Corrections c;
  EXPECT_TRUE(parse_corrections("", c));
  EXPECT_FALSE(c.any());
}

TEST(Corrections, AreOfOneGpuOrOfAll) {
  CorrectionTable table;
  ASSERT_TRUE(parse_corrections(
      "@0000:03:00.0 multiprocessors=36;@0000:04:00.0 multiprocessors=104,clock-mhz=1700", table));
  EXPECT_EQ(table.find("0000:03:00.0").number[0], 36u);
  EXPECT_FALSE(table.find("0000:03:00.0").has[1]);
  EXPECT_EQ(table.find("0000:04:00.0").number[0], 104u);
  EXPECT_FALSE(table.find("0000:05:00.0").any());
  EXPECT_FALSE(table.find("").any()) << "which of two is not known";
  CorrectionTable all;
  ASSERT_TRUE(parse_corrections("wave-size=32", all));
  EXPECT_EQ(all.find("0000:05:00.0").number[2], 32u);
  CorrectionTable one;
  ASSERT_TRUE(parse_corrections("@0000:03:00.0 wave-size=32", one));
  EXPECT_TRUE(one.find("").any()) << "there is only one";
  for (const char* text : {"@", "@0000:03:00.0", "@ wave-size=32",
                           "@0000:03:00.0-too-long wave-size=32", "wave-size=32;x=1"}) {
    CorrectionTable bad;
    EXPECT_FALSE(parse_corrections(text, bad)) << text;
  }
}

TEST(Corrections, WritesBothLayoutsInTheirUnits) {
  Corrections c;
  ASSERT_TRUE(parse_corrections("multiprocessors=36,clock-mhz=2575,arch=gfx1030", c));
  std::vector<char> hip5(792), hip6(1472);
  std::strcpy(hip5.data() + 396, "gfx1031:xnack-");
  g_reports.clear();
  correct_properties(c, amd::kHipPropertiesR0000, hip5.data(), {note, nullptr});
  EXPECT_EQ(at<int>(hip5, 336), 36);
  EXPECT_EQ(at<int>(hip5, 308), 2575000);
  EXPECT_STREQ(hip5.data() + 396, "gfx1030:xnack-");
  EXPECT_EQ(g_reports.size(), 3u);
  EXPECT_EQ(g_reports.back(), "arch gfx1031:xnack- -> gfx1030:xnack-");
  g_reports.clear();
  correct_properties(c, amd::kHipPropertiesR0000, hip5.data(), {note, nullptr});
  EXPECT_TRUE(g_reports.empty()) << "what is right already is not reported";
  correct_properties(c, amd::kHipPropertiesR0600, hip6.data(), {});
  EXPECT_EQ(at<int>(hip6, 388), 36);
  EXPECT_EQ(at<int>(hip6, 348), 2575000);
}

TEST(Corrections, LeavesOtherAttributesAlone) {
  Corrections c;
  ASSERT_TRUE(parse_corrections("multiprocessors=36,clock-mhz=2575", c));
  int value = 18;
  correct_attribute(c, field_of_cuda_attribute(16), &value, {});
  EXPECT_EQ(value, 36);
  value = 1200000;
  correct_attribute(c, field_of_hip_attribute(5), &value, {});
  EXPECT_EQ(value, 2575000);
  value = 7;
  correct_attribute(c, field_of_hip_attribute(6), &value, {});
  EXPECT_EQ(value, 7);
  correct_attribute(c, field_of_cuda_attribute(10), &value, {});
  EXPECT_EQ(value, 7) << "wave-size was not asked for";
}

}  // namespace
}  // namespace wavetap::correct
