// The reference beside small kernels whose results are known by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/engine.h"
#include "emu/exec/float_ops.h"
#include "emu/testing/kernel.h"
#include "emu/testing/targets.h"
#include "proof/shadow_watch.h"

namespace wavetap::proof {
namespace {

using emu::TestKernel;

struct Ran {
  uint32_t bits = 0;
  float original = 0;
  WordCells word;
  Cell reference;
  ShadowWatch::Counts not_followed, taken_apart;
};

constexpr amd::GfxTarget kGfx90a{9, 0, 10}, kGfx1030{10, 3, 0};

// Work-item 0 computes v1 of the numbers in s8, s9 …, v0 being its lane; what is stored, and its reference.
Ran run(amd::GfxTarget target, const std::string& text, std::vector<float> numbers) {
  const bool wave64 = target.major == 9;
  TestKernel kernel(
      {.target = target, .wave64 = wave64},
      "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_load_dwordx4 s[8:11], s[4:5], 0x0\n"
      "v_and_b32 v0, 0x3ff, v0\n"
      "v_mov_b32 v20, 0\n"
      "s_waitcnt lgkmcnt(0)\n" +
          text +
          "\nv_lshlrev_b32 v21, 2, v0\nglobal_store_dword v21, v1, s[4:5] offset:64\ns_endpgm\n");
  kernel.set_argument64(0, TestKernel::kData);
  for (size_t i = 0; i < numbers.size(); ++i)
    kernel.memory.write(TestKernel::kData + 4 * i, numbers[i]);
  kernel.set_size(wave64 ? 64 : 32, wave64 ? 64 : 32);
  kernel.dispatch.group_segment_bytes = 1024;
  ShadowWatch watch;
  emu::Watcher* watchers[] = {&watch};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  const emu::DispatchResult ran = engine.run(kernel.dispatch);
  EXPECT_FALSE(ran.fault) << ran.fault->detail;
  const uint32_t bits = kernel.data(16);
  const WordCells word = watch.at(TestKernel::kData + 64, bits);
  return {bits,         std::bit_cast<float>(bits), word,
          word.whole(), watch.not_followed(),       watch.taken_apart()};
}

void expect_near(const Ran& ran, double wanted, const std::string& what) {
  ASSERT_EQ(ran.reference.kind, CellKind::kF32) << what;
  EXPECT_NEAR(ran.reference.value, wanted, std::fabs(wanted) * 1e-14) << what;
  EXPECT_LE(std::fabs(static_cast<double>(ran.original) - ran.reference.value), ran.reference.bound)
      << what;
}

constexpr float kX = 1.1f, kY = 0.7f, kZ = -3.3f;
const double x = 1.1f, y = 0.7f, z = -3.3f;

TEST(Shadow, ArithmeticIsThatOfFp64) {
  const struct {
    const char* text;
    double wanted;
  } kCases[] = {
      {"v_mov_b32 v2, s8\nv_add_f32 v1, s9, v2", x + y},
      {"v_mov_b32 v2, s8\nv_sub_f32 v1, s9, v2", y - x},
      {"v_mov_b32 v2, s8\nv_subrev_f32 v1, s9, v2", x - y},
      {"v_mov_b32 v2, s8\nv_mul_f32 v1, s9, v2", x * y},
      {"v_mov_b32 v2, s8\nv_mov_b32 v3, s9\nv_mov_b32 v1, s10\nv_fmac_f32 v1, v2, v3", x * y + z},
      {"v_mov_b32 v2, s8\nv_mov_b32 v3, s9\nv_mul_f32 v4, v2, v3\nv_max_f32 v1, v4, v20", x * y},
      {"v_mov_b32 v2, s8\nv_mul_f32 v4, v2, v2\nv_sqrt_f32 v1, v4", x},
      {"v_mov_b32 v2, s8\nv_rcp_f32 v1, v2", 1 / x},
      {"v_mov_b32 v2, s8\nv_exp_f32 v1, v2", std::exp2(x)},
      {"v_mov_b32 v2, s8\nv_log_f32 v1, v2", std::log2(x)},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mul_f32 v1, -v2, |v2|", -x * x * x * x},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_xor_b32 v1, 0x80000000, v2", -x * x},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mul_f32 v1, v2, v2 mul:2", x * x * x * x},
      // What one lane computed, in another one, through a scalar register and through LDS.
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_readfirstlane_b32 s6, v2\nv_mov_b32 v1, s6",
       x * x},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
       x * x},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_lshlrev_b32 v3, 2, v0\nds_write_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n"
       "ds_read_b32 v1, v3\ns_waitcnt lgkmcnt(0)",
       x * x},
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mov_b32 v3, 4\nds_bpermute_b32 v1, v3, v2\ns_waitcnt lgkmcnt(0)",
       x * x},
      // A sum in LDS, of all lanes.
      {"v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nds_write_b32 v20, v20\ns_mov_b32 m0, -1\nds_add_f32 v20, v2\ns_waitcnt lgkmcnt(0)\n"
       "ds_read_b32 v1, v20\ns_waitcnt lgkmcnt(0)",
       -1},
      {"v_mov_b32 v2, s8\nv_cvt_f64_f32 v[4:5], v2\nv_mul_f64 v[4:5], v[4:5], v[4:5]\nv_cvt_f32_f64 v1, v[4:5]",
       x * x},
  };
  for (const amd::GfxTarget target : {kGfx90a, kGfx1030})
    for (const auto& one : kCases) {
      const double wanted = one.wanted == -1 ? (target.major == 9 ? 64 : 32) * x * x : one.wanted;
      const Ran ran = run(target, one.text, {kX, kY, kZ});
      if (one.wanted == -1) {
        ASSERT_EQ(ran.reference.kind, CellKind::kF32) << one.text;
        EXPECT_NEAR(ran.reference.value, wanted, 1e-12) << one.text;
        continue;
      }
      expect_near(ran, wanted, one.text);
    }
}

// 1e8 + 1 - 1e8 is 0 in f32; the reference has the 1, and the bound explains its loss.
TEST(Shadow, ABoundExplainsWhatRoundingsLost) {
  const Ran ran =
      run(kGfx1030, "v_mov_b32 v2, s8\nv_add_f32 v3, 1.0, v2\nv_sub_f32 v1, v3, v2", {1e8f});
  EXPECT_EQ(ran.original, 0);
  EXPECT_EQ(ran.reference.value, 1);
  EXPECT_GE(ran.reference.bound, 1);
  EXPECT_LE(ran.reference.bound, 16);
}

TEST(Shadow, ADivisionIsTheQuotient) {
  const Ran ran = run(
      kGfx1030,
      "v_mov_b32 v2, s8\nv_mov_b32 v3, s9\nv_mul_f32 v3, v3, v3\n"
      "v_div_scale_f32 v4, s6, v3, v3, v2\nv_rcp_f32 v5, v4\nv_fma_f32 v6, -v4, v5, 1.0\nv_fmac_f32 v5, v6, v5\n"
      "v_div_scale_f32 v6, vcc_lo, v2, v3, v2\nv_mul_f32 v7, v6, v5\nv_fma_f32 v8, -v4, v7, v6\n"
      "v_fmac_f32 v7, v8, v5\nv_fma_f32 v4, -v4, v7, v6\nv_div_fmas_f32 v4, v4, v5, v7\n"
      "v_div_fixup_f32 v1, v4, v3, v2",
      {kX, kY});
  expect_near(ran, x / (y * y), "division");
}

// Packed arithmetic of gfx90a chooses dwords and negates them one by one.
TEST(Shadow, PackedPairsAreFollowedOneByOne) {
  const Ran ran = run(
      kGfx90a,
      "v_mov_b32 v4, s8\nv_mov_b32 v5, s9\nv_mov_b32 v6, s10\nv_mov_b32 v7, s9\n"
      "v_pk_mul_f32 v[8:9], v[4:5], v[6:7]\nv_pk_add_f32 v[10:11], v[8:9], v[8:9] op_sel:[0,1] neg_lo:[0,1]\nv_mov_b32 v1, v10",
      {kX, kY, kZ});
  expect_near(ran, x * z - y * y, "packed");
}

// What comes of infinities that the original made itself is no measure; of those it was given, it is.
TEST(Shadow, OverflowsAreKnown) {
  const char kSquare[] = "v_mov_b32 v2, s8\nv_mul_f32 v3, v2, v2\nv_rcp_f32 v1, v3";
  EXPECT_EQ(run(kGfx1030, kSquare, {1e30f}).reference.kind, CellKind::kOverflow);
  EXPECT_NE(run(kGfx1030, kSquare, {HUGE_VALF}).reference.kind, CellKind::kOverflow);
}

double half(uint32_t bits, bool is_high = false) {
  return static_cast<double>(emu::half_to_float(is_high ? bits >> 16 : bits & 0xffff));
}

// The sources below are what v_cvt_pkrtz makes of two numbers: exact ones, so that nothing is lost.
void expect_half(const Ran& ran, bool is_high, double wanted, const std::string& what) {
  const Cell cell = ran.word.half(is_high);
  ASSERT_EQ(cell.kind, CellKind::kF16) << what;
  EXPECT_NEAR(cell.value, wanted, std::fabs(wanted) * 1e-14) << what;
  EXPECT_LE(std::fabs(half(ran.bits, is_high) - cell.value), cell.bound) << what;
  // Not so wide that anything would do: a few units in the last place.
  EXPECT_LE(cell.bound, std::max(std::fabs(wanted), 1.0) * 0x1p-7) << what;
}

TEST(Shadow, HalvesAreFollowed) {
  // s8, s9 and s10 are 1.5, 0.703125 and -3.3125, which halves have; s11 is 1.1, which they have not.
  constexpr double p = 1.5, q = 0.703125, r = -3.3125, t = 1.1f;
  const std::vector<float> numbers = {1.5f, 0.703125f, -3.3125f, 1.1f};
  const std::string kLoad =
      "v_cvt_f16_f32 v2, s8\nv_cvt_f16_f32 v3, s9\nv_cvt_f16_f32 v4, s10\nv_cvt_f16_f32 v5, s11\nv_mov_b32 v1, 0\n";
  const struct {
    const char* text;
    double low, high;
  } kCases[] = {
      {"v_mov_b32 v1, v5", t, 0},
      {"v_add_f16 v1, v2, v5", p + t, 0},
      {"v_sub_f16 v1, v2, v5", p - t, 0},
      {"v_subrev_f16 v1, v2, v5", t - p, 0},
      {"v_mul_f16 v1, v2, v5", p * t, 0},
      {"v_mul_f16 v1, -v2, |v5|", -p * t, 0},
      {"v_mov_b32 v1, v3\nv_fma_f16 v1, v2, v5, v1", p * t + q, 0},
      {"v_max_f16 v1, v5, v4", t, 0},
      {"v_min3_f16 v1, v2, v5, v2", t, 0},
      {"v_rcp_f16 v1, v5", 1 / t, 0},
      {"v_sqrt_f16 v1, v5", std::sqrt(t), 0},
      {"v_exp_f16 v1, v5", std::exp2(t), 0},
      {"v_ldexp_f16 v1, v5, 3", 8 * t, 0},
      {"v_fma_mixlo_f16 v1, v2, s11, v3 op_sel_hi:[1,0,1]", p * t + q, 0},
      {"v_fma_mixlo_f16 v1, v2, s11, v3 op_sel_hi:[1,0,1]\nv_fma_mixhi_f16 v1, v5, v4, v2 op_sel_hi:[1,1,1]",
       p * t + q, t * r + p},
      // Two at a time, and packed by hand.
      {"v_pack_b32_f16 v6, v5, v4\nv_pk_mul_f16 v1, v6, v6", t * t, r * r},
      {"v_pack_b32_f16 v6, v5, v4\nv_pk_add_f16 v1, v6, v6 op_sel:[0,1] op_sel_hi:[1,0]", t + r,
       r + t},
      {"v_pack_b32_f16 v6, v5, v2\nv_pk_fma_f16 v1, v6, v6, v6 neg_lo:[1,0,0] neg_hi:[0,0,1]",
       -t * t + t, p * p - p},
      {"v_pack_b32_f16 v6, v5, v2\nv_pk_max_f16 v1, v6, v6", t, p},
      {"v_mul_f16 v6, v5, v5\nv_lshlrev_b32 v6, 16, v6\nv_and_b32 v7, 0xffff, v5\nv_or_b32 v1, v6, v7",
       t, t * t},
      {"v_mul_f16 v6, v5, v5\nv_lshl_or_b32 v7, v6, 16, v5\nv_lshrrev_b32 v1, 16, v7", t * t, 0},
      {"v_cvt_pkrtz_f16_f32 v1, s11, v20", t, 0},
      // Stored and loaded, in halves.
      {"v_mul_f16 v6, v5, v5\nv_lshlrev_b32 v7, 2, v0\nds_write_b16 v7, v5\nds_write_b16 v7, v6 offset:2\n"
       "s_waitcnt lgkmcnt(0)\nds_read_b32 v1, v7\ns_waitcnt lgkmcnt(0)",
       t, t * t},
      {"v_mul_f16 v6, v5, v5\nv_lshl_or_b32 v6, v6, 16, v5\nv_lshlrev_b32 v7, 2, v0\nds_write_b32 v7, v6\n"
       "s_waitcnt lgkmcnt(0)\nds_read_u16 v1, v7 offset:2\ns_waitcnt lgkmcnt(0)",
       t * t, 0},
  };
  for (const amd::GfxTarget target : {kGfx90a, kGfx1030})
    for (const auto& one : kCases) {
      const Ran ran = run(target, kLoad + one.text, numbers);
      expect_half(ran, false, one.low, one.text);
      if (one.high != 0) expect_half(ran, true, one.high, one.text);
      EXPECT_TRUE(ran.not_followed.empty()) << one.text << ": " << ran.not_followed.begin()->first;
    }
}

// Halves come of f32 and become f32 again: what a rounding to 11 bits lost is in the bound.
TEST(Shadow, HalvesGoBackToF32) {
  const struct {
    const char* text;
    double wanted;
  } kCases[] = {
      {"v_cvt_f16_f32 v2, s8\nv_cvt_f32_f16 v1, v2", x},
      {"v_cvt_f16_f32 v2, s8\nv_mov_b32 v3, s9\nv_fma_mix_f32 v1, v2, v3, v3 op_sel_hi:[1,0,0]",
       x * y + y},
      {"v_cvt_pkrtz_f16_f32 v2, s8, v20\nv_mov_b32 v3, s9\nv_cvt_pkrtz_f16_f32 v3, s8, v3\nv_mov_b32 v1, s10\n"
       "v_dot2_f32_f16 v1, v2, v3, v1",
       x * x + z},
  };
  for (const amd::GfxTarget target : {kGfx90a, kGfx1030})
    for (const auto& one : kCases) {
      const Ran ran = run(target, one.text, {kX, kY, kZ});
      expect_near(ran, one.wanted, one.text);
      EXPECT_GT(ran.reference.bound, 1e-4) << one.text;
      EXPECT_LT(ran.reference.bound, 1e-2) << one.text;
    }
}

// gfx9's SDWA takes and leaves halves of registers, bytes of whole numbers, and keeps the rest.
TEST(Shadow, PartsOfRegistersAreFollowed) {
  const std::string kLoad =
      "v_cvt_f16_f32 v2, s8\nv_cvt_f16_f32 v3, s9\nv_cvt_f16_f32 v4, s10\nv_lshl_or_b32 v5, v3, 16, v2\nv_mov_b32 v1, v5\n";
  const double p = 1.5, q = 0.703125, t = 1.1f;
  const std::vector<float> numbers = {1.5f, 1.1f, 0.703125f, 3.0f};
  const struct {
    const char* text;
    double low, high;
  } kHalves[] = {
      {"v_add_f16_sdwa v1, v5, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
       t + q, 0},
      {"v_mul_f16_sdwa v1, v5, v5 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_1",
       p, p * t},
      {"v_mul_f16_sdwa v1, -v5, v5 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_1",
       -p * t, t},
      {"v_mov_b32_sdwa v1, v5 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1", t, t},
      {"v_mul_f16 v6, v3, v3\nv_or_b32_sdwa v1, v5, v6 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD\n"
       "v_lshlrev_b32_sdwa v1, v20, v6 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_0",
       t * t, 0},
      {"v_cvt_f16_f32_sdwa v1, s9 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", p, t},
  };
  for (const auto& one : kHalves) {
    const Ran ran = run(kGfx90a, kLoad + one.text, numbers);
    expect_half(ran, false, one.low, one.text);
    if (one.high != 0) expect_half(ran, true, one.high, one.text);
    EXPECT_TRUE(ran.not_followed.empty()) << one.text;
  }
  const struct {
    const char* text;
    double wanted;
  } kWhole[] = {
      {"v_cvt_f32_f16_sdwa v1, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", t},
      {"v_mov_b32 v6, 0x12fe34\nv_cvt_f32_u32_sdwa v1, v6 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1",
       254},
      {"v_mov_b32 v6, 0x12fe34\nv_cvt_f32_i32_sdwa v1, sext(v6) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1",
       -2},
  };
  for (const auto& one : kWhole)
    expect_near(run(kGfx90a, kLoad + one.text, numbers), one.wanted, one.text);
  // A byte of a number is not one.
  const Ran lost = run(
      kGfx90a,
      kLoad +
          "v_add_f32_sdwa v1, v5, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
      numbers);
  EXPECT_EQ(lost.reference.kind, CellKind::kUnknown);
  EXPECT_EQ(lost.not_followed, (ShadowWatch::Counts{{"v_add_f32", 1}}));
}

// v_mfma: every element of A is one number and every element of B another, so that all results are alike;
// what A and B had lost when they were rounded to 16 bits is in the bound.
TEST(Shadow, MatricesAreFollowed) {
  const std::string kF32 =
      "v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mov_b32 v4, s9\n"
      "v_mov_b32 v12, s10\nv_mov_b32 v13, s10\nv_mov_b32 v14, s10\nv_mov_b32 v15, s10\ns_nop 4\n";
  const std::string kF16 =
      "v_mov_b32 v6, s8\nv_cvt_pkrtz_f16_f32 v2, v6, v6\nv_mov_b32 v3, v2\nv_mov_b32 v6, s9\nv_cvt_pkrtz_f16_f32 v4, v6, v6\n"
      "v_mov_b32 v5, v4\nv_mov_b32 v12, s10\nv_mov_b32 v13, s10\nv_mov_b32 v14, s10\nv_mov_b32 v15, s10\ns_nop 4\n";
  // 1.5 and -0.75 as bf16, which they are exactly.
  const std::string kBf16 =
      "v_mov_b32 v2, 0x3fc03fc0\nv_mov_b32 v3, v2\nv_mov_b32 v4, 0xbf40bf40\nv_mov_b32 v5, v4\n"
      "v_mov_b32 v12, s10\nv_mov_b32 v13, s10\nv_mov_b32 v14, s10\nv_mov_b32 v15, s10\ns_nop 4\n";
  const std::string kEnd = "\ns_nop 15\ns_nop 15\nv_mov_b32 v1, v8\n";
  const struct {
    std::string text;
    double wanted, least, most;  // bounds
  } kCases[] = {
      {kF32 + "v_mfma_f32_4x4x1f32 v[8:11], v2, v4, v[12:15]", x * x * y + z, 1e-8, 1e-5},
      {kF32 + "v_mfma_f32_16x16x4f32 v[8:11], v2, v4, v[12:15]", 4 * x * x * y + z, 1e-8, 1e-5},
      {kF32 + "v_mfma_f32_16x16x4f32 v[8:11], v2, v4, 1.0", 4 * x * x * y + 1, 1e-8, 1e-5},
      {kF16 + "v_mfma_f32_4x4x4f16 v[8:11], v[2:3], v[4:5], v[12:15]", 4 * x * y + z, 1e-4, 2e-2},
      {kF16 + "v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], v[12:15]", 16 * x * y + z, 1e-3,
       5e-2},
      {kBf16 + "v_mfma_f32_16x16x16bf16_1k v[8:11], v[2:3], v[4:5], v[12:15]", 16 * -1.125 + z,
       1e-8, 1e-4},
      {kBf16 + "v_mfma_f32_16x16x8bf16 v[8:11], v2, v4, v[12:15]", 8 * -1.125 + z, 1e-8, 1e-4},
  };
  for (const auto& one : kCases) {
    const Ran ran = run(kGfx90a, one.text + kEnd, {kX, kY, kZ});
    expect_near(ran, one.wanted, one.text);
    EXPECT_GT(ran.reference.bound, one.least) << one.text;
    EXPECT_LT(ran.reference.bound, one.most) << one.text;
    EXPECT_TRUE(ran.not_followed.empty()) << one.text;
  }
}

// Elements that all differ: were one looked for in the wrong lane, the original would be far from it.
TEST(Shadow, MatricesHaveTheirElementsWhereTheyAre) {
  for (const char* text :
       {"v_mfma_f32_32x32x1f32 a[0:31], v2, v4, 0", "v_mfma_f32_32x32x2f32 a[0:15], v2, v4, 0",
        "v_mfma_f32_16x16x1f32 a[0:15], v2, v4, 0", "v_mfma_f32_16x16x4f32 a[0:3], v2, v4, 0",
        "v_mfma_f32_4x4x1f32 a[0:3], v2, v4, 0",
        "v_mfma_f32_4x4x1f32 a[0:3], v2, v4, 0 cbsz:2 abid:3",
        "v_mfma_f32_16x16x4f32 a[0:3], v2, v4, 0 blgp:3",
        "v_mfma_f32_16x16x4f32 a[0:3], v2, v4, 0 blgp:6",
        "v_mfma_f32_32x32x8f16 a[0:15], v[8:9], v[10:11], 0",
        "v_mfma_f32_32x32x4f16 a[0:31], v[8:9], v[10:11], 0",
        "v_mfma_f32_16x16x16f16 a[0:3], v[8:9], v[10:11], 0",
        "v_mfma_f32_16x16x4f16 a[0:15], v[8:9], v[10:11], 0",
        "v_mfma_f64_16x16x4f64 a[0:7], v[12:13], v[14:15], 0",
        "v_mfma_f64_4x4x4f64 a[0:1], v[12:13], v[14:15], 0"}) {
    const bool is_double = std::string(text).find("f64") != std::string::npos;
    TestKernel kernel(
        {.target = kGfx90a},
        std::string(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_and_b32 v0, 0x3ff, v0\nv_cvt_f32_u32 v2, v0\n"
            "v_mul_f32 v3, 0x3ca3d70a, v2\nv_exp_f32 v2, v3\nv_sin_f32 v4, v3\n"
            "v_mul_f32 v5, v4, v4\nv_cvt_pkrtz_f16_f32 v8, v2, v4\nv_cvt_pkrtz_f16_f32 v9, v4, v5\n"
            "v_cvt_pkrtz_f16_f32 v10, v5, v2\nv_cvt_pkrtz_f16_f32 v11, v4, v2\n"
            "v_cvt_f64_f32 v[12:13], v2\nv_cvt_f64_f32 v[14:15], v4\n"
            "v_mul_f64 v[12:13], v[12:13], v[12:13]\ns_nop 8\n") +
            text +
            "\ns_nop 15\ns_nop 15\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 3, v0\n"
            "v_accvgpr_read_b32 v6, a0\nv_accvgpr_read_b32 v7, a1\nglobal_store_dwordx2 v1, v[6:7], s[4:5]\ns_endpgm\n");
    kernel.set_argument64(0, TestKernel::kData);
    kernel.set_size(64, 64);
    ShadowWatch watch;
    emu::Watcher* watchers[] = {&watch};
    kernel.dispatch.watchers = watchers;
    emu::Engine engine({.threads = 1});
    const emu::DispatchResult ran = engine.run(kernel.dispatch);
    ASSERT_FALSE(ran.fault) << text << ran.fault->detail;
    EXPECT_TRUE(watch.not_followed().empty()) << text;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const uint32_t low = kernel.data(2 * lane), high = kernel.data(2 * lane + 1);
      const Cell cell = watch.at(TestKernel::kData + 8 * lane, low).whole();
      ASSERT_EQ(cell.kind, is_double ? CellKind::kF64 : CellKind::kF32) << text << " lane " << lane;
      const double got = is_double ? std::bit_cast<double>(uint64_t{high} << 32 | low)
                                   : static_cast<double>(std::bit_cast<float>(low));
      EXPECT_LE(std::fabs(got - cell.value), cell.bound) << text << " lane " << lane;
      EXPECT_LE(cell.bound, 0.01 * std::fabs(cell.value) + 0.05) << text << " lane " << lane;
    }
  }
}

// Products too large for their type are luck where a fused sum is finite: no measure for others.
TEST(Shadow, AProductTooLargeForItsTypeIsAnOverflow) {
  const Ran ran =
      run(kGfx1030, "v_mov_b32 v2, s8\nv_mov_b32 v3, s9\nv_mov_b32 v1, s10\nv_fmac_f32 v1, v2, v3",
          {3e38f, -2, 3e38f});
  EXPECT_TRUE(std::isfinite(ran.original));
  EXPECT_EQ(ran.reference.kind, CellKind::kOverflow);
}

TEST(Shadow, WhatCannotBeFollowedHasNoReferenceAndIsCounted) {
  // Of a number, v_interp and the like are not followed; nor are sums of halves in memory.
  const Ran ran = run(
      kGfx90a,
      "v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_cvt_pkrtz_f16_f32 v3, v2, v2\n"
      "global_atomic_pk_add_f16 v20, v3, s[4:5] offset:128\ns_waitcnt vmcnt(0)\n"
      "global_load_dword v4, v20, s[4:5] offset:128 glc\ns_waitcnt vmcnt(0)\nv_cvt_f32_f16 v1, v4",
      {kX});
  EXPECT_EQ(ran.reference.kind, CellKind::kUnknown);
  EXPECT_EQ(ran.not_followed, (ShadowWatch::Counts{{"global_atomic_pk_add_f16", 1}}));
}

TEST(Shadow, BitsOfNumbersThatAreTakenAsTheyAreAreCounted) {
  // The upper half of a float, as kernels make a bf16.
  const Ran ran = run(
      kGfx1030,
      "v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_lshrrev_b32 v3, 16, v2\nv_lshlrev_b32 v1, 16, v3",
      {kX});
  EXPECT_EQ(ran.reference.kind, CellKind::kExact);
  EXPECT_EQ(ran.taken_apart, (ShadowWatch::Counts{{"v_lshrrev_b32", 1}}));
  EXPECT_TRUE(ran.not_followed.empty());
}

// A minimum in memory is one of the two, with what is known of it.
TEST(Shadow, MinimaInMemoryAreKnown) {
  const Ran ran =
      run(kGfx90a,
          "v_mov_b32 v2, s8\nv_mul_f32 v2, v2, v2\nv_mov_b32 v3, s9\nv_mul_f32 v3, v3, v3\n"
          "ds_write_b32 v20, v3\ns_waitcnt lgkmcnt(0)\nds_min_f32 v20, v2\ns_waitcnt lgkmcnt(0)\n"
          "ds_read_b32 v1, v20\ns_waitcnt lgkmcnt(0)",
          {kX, kY});
  expect_near(ran, y * y, "minimum");
}

}  // namespace
}  // namespace wavetap::proof
