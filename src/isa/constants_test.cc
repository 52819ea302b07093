#include "isa/constants.h"

#include <gtest/gtest.h>

namespace wavetap::isa {
namespace {

TEST(Constants, IntegersAreSignExtendedToTheOperand) {
  EXPECT_EQ(expand_constant(SourceType::kInt32, 128, 0, false), 0u);
  EXPECT_EQ(expand_constant(SourceType::kInt32, 192, 0, false), 64u);
  EXPECT_EQ(expand_constant(SourceType::kFp32, 193, 0, false), 0xffffffffu);
  EXPECT_EQ(expand_constant(SourceType::kInt64, 208, 0, false), ~uint64_t{15});
  EXPECT_EQ(expand_constant(SourceType::kInt16, 193, 0, false), 0xffffu);
  EXPECT_EQ(expand_constant(SourceType::kPackedInt16, 193, 0, false), 0xffffffffu);
  EXPECT_EQ(expand_constant(SourceType::kPackedFp32, 193, 0, false), ~uint64_t{0});
}

TEST(Constants, FloatsTakeTheOperandsFormat) {
  EXPECT_EQ(expand_constant(SourceType::kFp32, 242, 0, false), 0x3f800000u);
  EXPECT_EQ(expand_constant(SourceType::kInt32, 242, 0, false), 0x3f800000u);
  EXPECT_EQ(expand_constant(SourceType::kFp64, 245, 0, false), 0xc000000000000000u);
  EXPECT_EQ(expand_constant(SourceType::kInt64, 240, 0, false), 0x3fe0000000000000u);
  EXPECT_EQ(expand_constant(SourceType::kFp16, 242, 0, false), 0x3c00u);
  EXPECT_EQ(expand_constant(SourceType::kBf16, 242, 0, false), 0x3f80u);
  EXPECT_EQ(expand_constant(SourceType::kPackedFp16, 247, 0, false), 0xc400u);
  EXPECT_EQ(expand_constant(SourceType::kPackedInt16, 242, 0, false), 0x3f800000u);
  EXPECT_EQ(expand_constant(SourceType::kInt16, 242, 0, false), 0u);
  EXPECT_EQ(expand_constant(SourceType::kPackedFp32, 244, 0, false), 0x40000000u);
}

TEST(Constants, OneOverTwoPi) {
  EXPECT_EQ(expand_constant(SourceType::kFp32, 248, 0, false), 0x3e22f983u);
  EXPECT_EQ(expand_constant(SourceType::kFp64, 248, 0, false), 0x3fc45f306dc9c882u);
  EXPECT_EQ(expand_constant(SourceType::kFp16, 248, 0, false), 0x3118u);
}

TEST(Constants, LiteralsAreExtendedByType) {
  EXPECT_EQ(expand_constant(SourceType::kFp64, kLiteralField, 0x40490fdb, false),
            0x40490fdb00000000u);
  EXPECT_EQ(expand_constant(SourceType::kInt64, kLiteralField, 0xf2345678, false), 0xf2345678u);
  EXPECT_EQ(expand_constant(SourceType::kInt64, kLiteralField, 0xf2345678, true),
            0xfffffffff2345678u);
  EXPECT_EQ(expand_constant(SourceType::kFp16, kLiteralField, 0x12345678, false), 0x5678u);
  EXPECT_EQ(expand_constant(SourceType::kPackedFp16, kLiteralField, 0x12345678, false),
            0x12345678u);
  EXPECT_EQ(expand_constant(SourceType::kLiteral16, 0, 0x12345678, false), 0x5678u);
}

}  // namespace
}  // namespace wavetap::isa
