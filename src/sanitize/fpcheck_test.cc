// Fpcheck on single instructions.
#include "sanitize/fpcheck.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"
#include "sanitize/fp_operation.h"

namespace wavetap::sanitize::fpcheck_test {
namespace {

using emu::TestKernel;

std::vector<Finding> run(const std::string& text) {
  Fpcheck fpcheck;
  TestKernel kernel({}, text + "\ns_endpgm\n");
  kernel.set_size(64, 64);
  emu::Watcher* watchers[] = {&fpcheck};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  uint64_t dropped = 0;
  return fpcheck.findings().take(&dropped);
}

Kind only(const std::string& text) {
  const std::vector<Finding> findings = run(text);
  EXPECT_EQ(findings.size(), 1u) << text;
  return findings.empty() ? Kind::kLeak : findings[0].kind;
}

constexpr char kInfinity[] = "v_mov_b32 v1, 0x7f800000\n";
constexpr char kNan[] = "v_mov_b32 v1, 0x7fc00000\n";

TEST(Fpcheck, ANanIsToldOfWhereItIsBorn) {
  EXPECT_EQ(only(std::string(kInfinity) + "v_sub_f32 v2, v1, v1\nv_add_f32 v3, v2, v2\n"
                                          "v_mul_f32 v4, v3, v3"),
            Kind::kNanBorn);
  EXPECT_TRUE(run(std::string(kNan) + "v_add_f32 v2, v1, v1").empty());
  EXPECT_EQ(only("v_mov_b32 v1, -1.0\nv_sqrt_f32 v2, v1"), Kind::kNanBorn);
}

TEST(Fpcheck, OnlyTheLanesThatAreWrongAreNamed) {
  // Work-item 0 divides by zero.
  const std::vector<Finding> findings = run("v_cvt_f32_u32 v1, v0\nv_rcp_f32 v2, v1");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kInfinityBorn);
  EXPECT_EQ(findings[0].place.lanes, 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(Fpcheck, InfinityAndDenormalsAreBornAsWell) {
  EXPECT_EQ(only("v_mov_b32 v1, 0x7f000000\nv_mul_f32 v2, v1, v1"), Kind::kInfinityBorn);
  EXPECT_EQ(only("v_mov_b32 v1, 0x00800000\nv_mul_f32 v2, 0.5, v1"), Kind::kDenormalBorn);
  EXPECT_EQ(only("v_mov_b32 v1, 0x7b00\nv_mul_f16 v2, v1, v1"), Kind::kInfinityBorn);
  EXPECT_EQ(only("v_mov_b32 v2, 0\nv_mov_b32 v3, 0x7fe00000\nv_mul_f64 v[4:5], v[2:3], v[2:3]"),
            Kind::kInfinityBorn);
}

TEST(Fpcheck, PackedResultsAreTwo) {
  EXPECT_EQ(only("v_mov_b32 v1, 0x7b003c00\nv_pk_mul_f16 v2, v1, v1"), Kind::kInfinityBorn);
  EXPECT_TRUE(run("v_mov_b32 v1, 0x3c003c00\nv_pk_mul_f16 v2, v1, v1").empty());
}

TEST(Fpcheck, ConversionsThatLoseTheValue) {
  EXPECT_EQ(only("v_mov_b32 v1, 0x47c35000\nv_cvt_f16_f32 v2, v1"), Kind::kLossyConversion);
  EXPECT_EQ(only("v_mov_b32 v1, 0x2edbe6ff\nv_cvt_f16_f32 v2, v1"), Kind::kLossyConversion);
  EXPECT_EQ(only("v_mov_b32 v1, -1.0\nv_cvt_u32_f32 v2, v1"), Kind::kLossyConversion);
  EXPECT_EQ(only("v_mov_b32 v1, 0x4f800000\nv_cvt_i32_f32 v2, v1"), Kind::kLossyConversion);
  EXPECT_EQ(only(std::string(kNan) + "v_cvt_i32_f32 v2, v1"), Kind::kLossyConversion);
  EXPECT_TRUE(run("v_mov_b32 v1, 0x3fc00000\nv_cvt_i32_f32 v2, v1\nv_cvt_f16_f32 v3, v1").empty());
}

TEST(Fpcheck, StepsOfADivisionAreNotJudged) {
  // 1 / 0, as compilers write it.
  const std::string text =
      "v_mov_b32 v1, 1.0\nv_mov_b32 v2, 0\n"
      "v_div_scale_f32 v3, s[4:5], v2, v2, v1\nv_div_scale_f32 v4, vcc, v1, v2, v1\n"
      "v_rcp_f32 v5, v3\nv_fma_f32 v6, -v3, v5, 1.0\nv_fma_f32 v5, v6, v5, v5\n"
      "v_mul_f32 v6, v4, v5\nv_fma_f32 v7, -v3, v6, v4\nv_fma_f32 v6, v7, v5, v6\n"
      "v_fma_f32 v3, -v3, v6, v4\nv_div_fmas_f32 v3, v3, v5, v6\n"
      "v_div_fixup_f32 v8, v3, v2, v1";
  const std::vector<Finding> findings = run(text);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kInfinityBorn);
}

TEST(Fpcheck, KnowsTypesByTheNames) {
  const FpOperation narrow = fp_operation_of(isa::Op::v_cvt_f16_f32);
  EXPECT_EQ(narrow.result, FpType::kF16);
  EXPECT_EQ(narrow.operand, FpType::kF32);
  EXPECT_TRUE(narrow.is_conversion);
  EXPECT_EQ(fp_operation_of(isa::Op::v_add_u32).result, FpType::kNone);
  EXPECT_EQ(fp_operation_of(isa::Op::v_max_f32).result, FpType::kNone);
  EXPECT_EQ(FpOperation::unpacked(narrow.packed()).operand, FpType::kF32);
}

}  // namespace
}  // namespace wavetap::sanitize::fpcheck_test
