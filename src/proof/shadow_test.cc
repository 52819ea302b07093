// The reference beside small kernels whose results are known by hand.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "emu/engine.h"
#include "emu/testing/kernel.h"
#include "emu/testing/targets.h"
#include "proof/shadow_watch.h"

namespace wavetap::proof {
namespace {

using emu::TestKernel;

struct Ran {
  float original = 0;
  Cell reference;
  std::string not_followed;
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
  return {std::bit_cast<float>(bits), watch.at(TestKernel::kData + 64, bits), watch.not_followed()};
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

TEST(Shadow, WhatCannotBeFollowedHasNoReference) {
  const Ran ran = run(
      kGfx1030,
      "v_mov_b32 v2, s8\nv_cvt_f16_f32 v3, v2\nv_add_f16 v3, v3, v3\nv_cvt_f32_f16 v1, v3", {kX});
  EXPECT_EQ(ran.reference.kind, CellKind::kUnknown);
  EXPECT_EQ(ran.not_followed, "v_cvt_f16_f32");
}

}  // namespace
}  // namespace wavetap::proof
