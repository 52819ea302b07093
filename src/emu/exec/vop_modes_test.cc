// Vector operations in longer sequences and states that the sweep of exec/vop_test.cc does not
// reach: division, rounding modes, scalar and constant operands, register indexing, swaps.
#include <cfenv>
#include <cmath>
#include <random>

#include "emu/testing/machine.h"
#include "emu/testing/targets.h"
#include "emu/testing/vop_check.h"

#include <gtest/gtest.h>

namespace wavetap::emu {
namespace {

TestMachine::Options on(amd::GfxTarget target, bool wave64 = true) {
  return {.target = target, .wave64 = wave64, .vgprs = 64};
}

// --- The compiler's division sequences give the host's quotient, bit for bit.

constexpr const char* kDivideF32 =
    "v_div_scale_f32 v2, s[0:1], v1, v1, v0\n"  // v2 denominator
    "v_div_scale_f32 v3, vcc, v0, v1, v0\n"     // v3 numerator
    "v_rcp_f32 v4, v2\n"
    "v_fma_f32 v5, -v2, v4, 1.0\n"
    "v_fma_f32 v4, v5, v4, v4\n"
    "v_mul_f32 v5, v3, v4\n"
    "v_fma_f32 v6, -v2, v5, v3\n"
    "v_fma_f32 v5, v6, v4, v5\n"
    "v_fma_f32 v6, -v2, v5, v3\n"
    "v_div_fmas_f32 v5, v6, v4, v5\n"
    "v_div_fixup_f32 v8, v5, v1, v0\n";

TEST(VopDivision, SinglePrecisionQuotientsAreCorrectlyRounded) {
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(1);
  const auto& edges = edge_values("f32");
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const uint64_t a : edges)
    for (const uint64_t b : edges) pairs.emplace_back(a, b);
  for (int i = 0; i < 20000; ++i) pairs.emplace_back(random(), random());
  // Quotients around the denormal border, where scaling back rounds.
  for (int i = 0; i < 20000; ++i)
    pairs.emplace_back((random() & 0x807fffff) | (random() % 40) << 23,
                       (random() & 0x807fffff) | (120 + random() % 60) << 23);
  pairs.resize(pairs.size() / 64 * 64);
  for (size_t first = 0; first < pairs.size(); first += 64) {
    for (int lane = 0; lane < 64; ++lane) {
      machine.set_v(0, lane, pairs[first + static_cast<size_t>(lane)].first);
      machine.set_v(1, lane, pairs[first + static_cast<size_t>(lane)].second);
    }
    ASSERT_TRUE(machine.run(kDivideF32));
    for (int lane = 0; lane < 64; ++lane) {
      const float a = std::bit_cast<float>(machine.v(0, lane)),
                  b = std::bit_cast<float>(machine.v(1, lane));
      const float want = a / b, got = std::bit_cast<float>(machine.v(8, lane));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << a << " / " << b;
      } else {
        ASSERT_EQ(machine.v(8, lane), bits(want))
            << std::hexfloat << a << " / " << b << " = " << got << ", not " << want;
      }
    }
  }
}

// Blocks of lanes without doubt take the quick forms; one lane in doubt is enough for the full ones.
TEST(VopDivision, QuickAndFullStepsAgree) {
  constexpr int kBlock = 32;
  constexpr uint32_t kLarge = 0x7f000000, kSignallingNan = 0x7f800001;
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(4);
  const uint32_t special[] = {0, 0x80000000, 0x7f800000, 0xff800000, 1, 0x80000001, 0x00800000};
  const auto operand = [&](bool may_be_special) -> uint32_t {
    if (may_be_special && random() % 2 == 0) return special[random() % std::size(special)];
    return (random() & 0x807fffff) | (110 + random() % 30) << 23;
  };
  for (int round = 0; round < 2000; ++round) {
    uint32_t operands[2][64];
    for (auto& row : operands)
      for (uint32_t& value : row) value = operand(round % 4 != 0);
    std::vector<uint32_t> seen[2];
    for (const bool doubt : {false, true}) {
      for (int lane = 0; lane < 64; ++lane) {
        const bool is_last = lane % kBlock == kBlock - 1;
        const uint32_t denominator = lane < kBlock ? 1 : kSignallingNan;
        machine.set_v(0, lane, is_last ? (doubt ? kLarge : 0x40400000) : operands[0][lane]);
        machine.set_v(1, lane, is_last ? (doubt ? denominator : 0x40000000) : operands[1][lane]);
      }
      ASSERT_TRUE(machine.run(kDivideF32));
      for (uint32_t reg = 2; reg <= 8; ++reg)
        for (int lane = 0; lane < 64; ++lane)
          if (lane % kBlock != kBlock - 1) seen[doubt].push_back(machine.v(reg, lane));
      for (const uint32_t at : {0u, 1u, uint32_t{isa::slot::kVccLo}, uint32_t{isa::slot::kVccHi}})
        seen[doubt].push_back(machine.s(at) & 0x7fffffffu);
    }
    ASSERT_EQ(seen[0], seen[1]) << "round " << round;
  }
}

constexpr const char* kDivideF64 =
    "v_div_scale_f64 v[4:5], s[0:1], v[2:3], v[2:3], v[0:1]\n"
    "v_rcp_f64 v[8:9], v[4:5]\n"
    "v_fma_f64 v[10:11], -v[4:5], v[8:9], 1.0\n"
    "v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]\n"
    "v_fma_f64 v[10:11], -v[4:5], v[8:9], 1.0\n"
    "v_div_scale_f64 v[6:7], vcc, v[0:1], v[2:3], v[0:1]\n"
    "v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]\n"
    "v_mul_f64 v[10:11], v[6:7], v[8:9]\n"
    "v_fma_f64 v[4:5], -v[4:5], v[10:11], v[6:7]\n"
    "v_div_fmas_f64 v[10:11], v[4:5], v[8:9], v[10:11]\n"
    "v_div_fixup_f64 v[12:13], v[10:11], v[2:3], v[0:1]\n";

TEST(VopDivision, DoublePrecisionQuotientsAreCorrectlyRounded) {
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(2);
  const auto& edges = edge_values("f64");
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (const uint64_t a : edges)
    for (const uint64_t b : edges) pairs.emplace_back(a, b);
  for (int i = 0; i < 20000; ++i) pairs.emplace_back(random(), random());
  for (int i = 0; i < 20000; ++i)
    pairs.emplace_back((random() & 0x800fffffffffffff) | (random() % 100) << 52,
                       (random() & 0x800fffffffffffff) | (1000 + random() % 120) << 52);
  pairs.resize(pairs.size() / 64 * 64);
  for (size_t first = 0; first < pairs.size(); first += 64) {
    for (int lane = 0; lane < 64; ++lane) {
      machine.set_v64(0, lane, pairs[first + static_cast<size_t>(lane)].first);
      machine.set_v64(2, lane, pairs[first + static_cast<size_t>(lane)].second);
    }
    ASSERT_TRUE(machine.run(kDivideF64));
    for (int lane = 0; lane < 64; ++lane) {
      const double a = std::bit_cast<double>(machine.v64(0, lane)),
                   b = std::bit_cast<double>(machine.v64(2, lane));
      const double want = a / b, got = std::bit_cast<double>(machine.v64(12, lane));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << a << " / " << b;
      } else {
        ASSERT_EQ(machine.v64(12, lane), bits(want))
            << std::hexfloat << a << " / " << b << " = " << got << ", not " << want;
      }
    }
  }
}

// --- Rounding modes: 1 up, 2 down, 3 toward zero.

TEST(VopRounding, FollowsTheModeOfTheResultsType) {
  constexpr int kHostModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(3);
  for (int round = 0; round < 4; ++round) {
    for (int lane = 0; lane < 64; ++lane) {
      for (uint32_t reg : {0u, 1u, 2u})
        machine.set_v(reg, lane, (static_cast<uint32_t>(random()) & 0x83ffffff) + 0x3d000000);
      for (uint32_t reg : {4u, 6u, 8u})
        machine.set_v64(reg, lane, (random() & 0x803fffffffffffff) + 0x3fd0000000000000);
    }
    // f32 results use one setting, f16 and f64 results the other.
    machine.wave.mode.round_f32 = static_cast<uint8_t>(round);
    machine.wave.mode.round_f16_f64 = static_cast<uint8_t>((round + 1) & 3);
    ASSERT_TRUE(
        machine.run("v_add_f32 v10, v0, v1\n v_mul_f32 v11, v0, v1\n v_fma_f32 v12, v0, v1, v2\n "
                    "v_cvt_f32_f64 v13, v[4:5]\n"
                    "v_add_f64 v[14:15], v[4:5], v[6:7]\n v_fma_f64 v[16:17], v[4:5], v[6:7], "
                    "v[8:9]\n v_cvt_f16_f32 v18, v0\n"
                    "v_cvt_pkrtz_f16_f32 v19, v0, v1\n v_rndne_f32 v20, v0\n v_cvt_i32_f32 v21, "
                    "v0\n v_cvt_f32_u32 v22, v1\n"));
    for (int lane = 0; lane < 64; ++lane) {
      volatile float a = std::bit_cast<float>(machine.v(0, lane)),
                     b = std::bit_cast<float>(machine.v(1, lane)),
                     c = std::bit_cast<float>(machine.v(2, lane));
      volatile double x = std::bit_cast<double>(machine.v64(4, lane)),
                      y = std::bit_cast<double>(machine.v64(6, lane)),
                      z = std::bit_cast<double>(machine.v64(8, lane));
      volatile uint32_t integer = machine.v(1, lane);
      std::fesetround(kHostModes[round]);
      const volatile float sum = a + b, product = a * b, fused = std::fma(a, b, c),
                           narrowed = static_cast<float>(x),
                           converted = static_cast<float>(integer);
      std::fesetround(kHostModes[(round + 1) & 3]);
      const volatile double sum64 = x + y, fused64 = std::fma(x, y, z);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(machine.v(10, lane), bits(sum)) << round;
      ASSERT_EQ(machine.v(11, lane), bits(product)) << round;
      ASSERT_EQ(machine.v(12, lane), bits(fused)) << round;
      ASSERT_EQ(machine.v(13, lane), bits(narrowed)) << round;
      ASSERT_EQ(machine.v64(14, lane), bits(sum64)) << round;
      ASSERT_EQ(machine.v64(16, lane), bits(fused64)) << round;
      ASSERT_EQ(machine.v(18, lane), reference_to_f16(a, (round + 1) & 3)) << round << " " << a;
      ASSERT_EQ(machine.v(19, lane),
                reference_to_f16(a, 3) | uint32_t{reference_to_f16(b, 3)} << 16);
      ASSERT_EQ(std::bit_cast<float>(machine.v(20, lane)), std::nearbyint(a));
      ASSERT_EQ(static_cast<int32_t>(machine.v(21, lane)), static_cast<int32_t>(a));
      ASSERT_EQ(machine.v(22, lane), bits(converted)) << round;
    }
    ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  }
}

TEST(VopRounding, HalvesAreRoundedOnceInEveryMode) {
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(4);
  for (int round = 0; round < 4; ++round) {
    machine.wave.mode.round_f16_f64 = static_cast<uint8_t>(round);
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (int lane = 0; lane < 64; ++lane)
        for (uint32_t reg : {0u, 1u, 2u})
          machine.set_v(reg, lane, random() % 0x7c00 | (random() % 2) << 15);
      ASSERT_TRUE(
          machine.run("v_add_f16 v4, v0, v1\n v_mul_f16 v5, v0, v1\n v_fma_f16 v6, v0, v1, v2\n "
                      "v_pk_fma_f16 v7, v0, v1, v2\n"));
      for (int lane = 0; lane < 64; ++lane) {
        const auto half = [&](uint32_t reg) {
          return reference_f16(static_cast<uint16_t>(machine.v(reg, lane)));
        };
        // A sum that is exactly zero has the sign of its rounding mode, which double arithmetic
        // cannot tell.
        if (half(0) + half(1) != 0) {
          ASSERT_EQ(machine.v(4, lane) & 0xffff, reference_to_f16(half(0) + half(1), round));
        }
        ASSERT_EQ(machine.v(5, lane) & 0xffff, reference_to_f16(half(0) * half(1), round));
        const double product = half(0) * half(1), addend = half(2);
        double sum = product + addend;
        const double rest = sum - product, error = (product - (sum - rest)) + (addend - rest);
        if (error != 0) sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
        if (sum == 0) continue;
        ASSERT_EQ(machine.v(6, lane) & 0xffff, reference_to_f16(sum, round))
            << std::hexfloat << half(0) << " * " << half(1) << " + " << half(2);
        ASSERT_EQ(machine.v(7, lane) & 0xffff, reference_to_f16(sum, round));
      }
    }
  }
}

// --- Operands that are not VGPRs.

class VopOperands : public testing::TestWithParam<amd::GfxTarget> {};
INSTANTIATE_TEST_SUITE_P(Targets, VopOperands, testing::Values(kGfx90a, kGfx1030, kGfx1100),
                         [](const auto& parameter) { return amd::to_string(parameter.param); });

TEST_P(VopOperands, ScalarsAndConstantsAreTheSameInEveryLane) {
  TestMachine machine(on(GetParam()));
  for (int lane = 0; lane < 64; ++lane) machine.set_v(1, lane, static_cast<uint32_t>(lane) * 3);
  machine.set_s(4, 100);
  machine.set_s64(6, 0x4000000000000000);  // 2.0
  machine.set_s(isa::slot::kM0, 7);
  machine.set_v64(2, 5, bits(1.5));
  ASSERT_TRUE(machine.run(
      "v_add_f64 v[10:11], v[2:3], s[6:7]\n v_mul_f64 v[12:13], v[2:3], 4.0\n v_add_f64 v[20:21], "
      "v[2:3], 0.5\n"
      "v_mov_b32 v14, 0x12345678\n v_mov_b32 v15, s4\n v_mov_b32 v16, m0\n v_mov_b32 v17, -5\n "
      "v_mov_b32 v18, 1.0\n"
      "v_and_b32 v19, 0xff, v1\n v_lshlrev_b64 v[22:23], 3, v[2:3]\n v_mul_f16 v24, 2.0, v1\n"));
  for (int lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(machine.v(14, lane), 0x12345678u);
    EXPECT_EQ(machine.v(15, lane), 100u);
    EXPECT_EQ(machine.v(16, lane), 7u);
    EXPECT_EQ(machine.v(17, lane), 0xfffffffbu);
    EXPECT_EQ(machine.v(18, lane), 0x3f800000u);
    EXPECT_EQ(machine.v(19, lane), static_cast<uint32_t>(lane) * 3 & 0xff);
  }
  EXPECT_EQ(machine.v64(10, 5), bits(3.5));
  EXPECT_EQ(machine.v64(12, 5), bits(6.0));
  EXPECT_EQ(machine.v64(20, 5), bits(2.0));
  EXPECT_EQ(machine.v64(22, 5), bits(1.5) << 3);
}

TEST_P(VopOperands, OverlappingRegisterPairsAreReadBeforeTheyAreWritten) {
  TestMachine machine(on(GetParam()));
  if (GetParam().is_gfx90a_family()) GTEST_SKIP() << "register pairs are aligned";
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(1, lane, bits(1.0 + lane)), machine.set_v(0, lane, 0);
  ASSERT_TRUE(machine.run("v_add_f64 v[0:1], v[1:2], 1.0\n v_lshlrev_b64 v[5:6], 4, v[1:2]"));
  for (int lane = 0; lane < 64; ++lane) EXPECT_EQ(machine.v64(0, lane), bits(2.0 + lane));
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v64(2, lane, 0x100000001ull * static_cast<uint64_t>(lane + 1));
  ASSERT_TRUE(machine.run("v_lshlrev_b64 v[3:4], 4, v[2:3]"));
  for (int lane = 0; lane < 64; ++lane)
    EXPECT_EQ(machine.v64(3, lane), 0x100000001ull * static_cast<uint64_t>(lane + 1) << 4);
}

TEST_P(VopOperands, TheResultMayReplaceAnySource) {
  TestMachine machine(on(GetParam()));
  for (int lane = 0; lane < 64; ++lane)
    for (uint32_t reg : {1u, 2u, 3u})
      machine.set_v(reg, lane, bits(static_cast<float>(lane) + static_cast<float>(reg)));
  ASSERT_TRUE(
      machine.run("v_fma_f32 v1, v1, v2, v3\n v_fma_f32 v3, v3, v2, v3\n v_fmac_f32 v2, v2, v2\n"));
  for (int lane = 0; lane < 64; ++lane) {
    const float x = static_cast<float>(lane);
    EXPECT_EQ(machine.v(1, lane), bits((x + 1) * (x + 2) + (x + 3)));
    EXPECT_EQ(machine.v(3, lane), bits((x + 3) * (x + 2) + (x + 3)));
    EXPECT_EQ(machine.v(2, lane), bits((x + 2) * (x + 2) + (x + 2)));
  }
}

TEST(VopNans, TheFirstNanOperandWinsEvenWhenTheResultReplacesIt) {
  TestMachine machine(on(kGfx90a));
  const auto fill = [&] {
    machine.fill_v(0, 0x3f800000), machine.fill_v(1, 0xff812345);  // -sNaN in the upper dword
    machine.fill_v(2, 0x7f800001), machine.fill_v(3, 0x3f800000);  // sNaN in the lower dword
    machine.fill_v(4, 0x7fc00004), machine.fill_v(5, 0x7ff80005);
  };
  fill();
  ASSERT_TRUE(machine.run("v_pk_add_f32 v[0:1], v[0:1], v[2:3] neg_lo:[1,0]\n"));
  EXPECT_EQ(machine.v(0, 7), 0x7fc00001u);
  EXPECT_EQ(machine.v(1, 7), 0xffc12345u);
  fill();
  ASSERT_TRUE(machine.run(
      "v_fma_f32 v1, v0, v1, v4\n v_fmac_f32 v2, v4, v0\n v_add_f64 v[4:5], v[4:5], -v[0:1]\n"));
  EXPECT_EQ(machine.v(1, 7), 0xffc12345u);
  EXPECT_EQ(machine.v(2, 7), 0x7fc00004u);
  EXPECT_EQ(machine.v64(4, 7), 0x7ff800057fc00004u);
  // No operand is NaN: the default one.
  machine.fill_v(0, 0x7f800000), machine.fill_v(1, 0xff800000), machine.fill_v(2, 0);
  ASSERT_TRUE(machine.run("v_add_f32 v3, v0, v1\n v_mul_f32 v4, v0, v2\n v_sqrt_f32 v5, -1.0\n"));
  for (uint32_t reg : {3u, 4u, 5u}) EXPECT_EQ(machine.v(reg, 63), 0x7fc00000u);
}

TEST(VopMasks, Wave32UsesOneScalarPerMask) {
  TestMachine machine(on(kGfx1030, false));
  machine.set_s(5, 0xdeadbeef);
  machine.set_s(isa::slot::kVccHi, 0xdeadbeef);
  for (int lane = 0; lane < 32; ++lane)
    machine.set_v(0, lane, static_cast<uint32_t>(lane)), machine.set_v(1, lane, 0xfffffff0);
  machine.set_exec(0x00ffffff);
  ASSERT_TRUE(machine.run(
      "v_cmp_gt_u32 s4, 16, v0\n v_add_co_u32 v2, vcc_lo, v0, v1\n v_cndmask_b32 v3, 1, 2, s4\n"));
  EXPECT_EQ(machine.s(4), 0x0000ffffu);
  EXPECT_EQ(machine.s(5), 0xdeadbeefu);
  EXPECT_EQ(machine.s(isa::slot::kVccLo), 0x00ff0000u);
  EXPECT_EQ(machine.s(isa::slot::kVccHi), 0xdeadbeefu);
  EXPECT_EQ(machine.v(3, 3), 2u);
  EXPECT_EQ(machine.v(3, 20), 1u);
}

// --- Mixed signs of dot products.

TEST(VopDot, NegSelectsSignedSources) {
  TestMachine machine(on(kGfx1100, false));
  machine.fill_v(0, 0xff01fe80);
  machine.fill_v(1, 0x02ff0380);
  machine.fill_v(2, 1000);
  ASSERT_TRUE(
      machine.run("v_dot4_i32_iu8 v4, v0, v1, v2\n v_dot4_i32_iu8 v5, v0, v1, v2 neg_lo:[1,0,0]\n"
                  "v_dot4_i32_iu8 v6, v0, v1, v2 neg_lo:[0,1,0]\n v_dot4_i32_iu8 v7, v0, v1, v2 "
                  "neg_lo:[1,1,0]\n"
                  "v_dot8_i32_iu4 v8, v0, v1, v2 neg_lo:[1,0,0]\n"));
  const int a_unsigned[] = {0x80, 0xfe, 0x01, 0xff}, a_signed[] = {-128, -2, 1, -1};
  const int b_unsigned[] = {0x80, 0x03, 0xff, 0x02}, b_signed[] = {-128, 3, -1, 2};
  const auto dot = [](const int* a, const int* b) {
    return static_cast<uint32_t>(1000 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
  };
  EXPECT_EQ(machine.v(4), dot(a_unsigned, b_unsigned));
  EXPECT_EQ(machine.v(5), dot(a_signed, b_unsigned));
  EXPECT_EQ(machine.v(6), dot(a_unsigned, b_signed));
  EXPECT_EQ(machine.v(7), dot(a_signed, b_signed));
  // Nibbles: 0xff01fe80 signed against 0x02ff0380 unsigned.
  const int a4[] = {0, -8, -2, -1, 1, 0, -1, -1}, b4[] = {0, 8, 3, 0, 15, 15, 2, 0};
  int sum = 1000;
  for (int i = 0; i < 8; ++i) sum += a4[i] * b4[i];
  EXPECT_EQ(machine.v(8), static_cast<uint32_t>(sum));
}

// --- Register indexing and swaps.

TEST(VopIndexing, Gfx9AddsM0ToTheOperandsThatTheModeNames) {
  TestMachine machine(on(kGfx90a));
  for (int lane = 0; lane < 64; ++lane)
    for (uint32_t reg = 0; reg < 20; ++reg)
      machine.set_v(reg, lane, reg * 1000 + static_cast<uint32_t>(lane));
  machine.set_s(0, 3);
  ASSERT_TRUE(machine.run(
      "s_set_gpr_idx_on s0, gpr_idx(SRC0)\n v_mov_b32 v30, v5\n s_set_gpr_idx_off\n v_mov_b32 v31, "
      "v5\n"
      "s_set_gpr_idx_on s0, gpr_idx(DST)\n v_mov_b32 v32, v5\n s_set_gpr_idx_off\n"
      "s_set_gpr_idx_on s0, gpr_idx(SRC0,SRC1)\n v_add_u32 v38, v5, v6\n s_set_gpr_idx_off\n"));
  EXPECT_EQ(machine.v(30, 9), 8009u);
  EXPECT_EQ(machine.v(31, 9), 5009u);
  EXPECT_EQ(machine.v(35, 9), 5009u);
  EXPECT_EQ(machine.v(38, 9), 8009u + 9009u);
  // Outside: a source reads v0, a destination is dropped.
  machine.set_s(0, 200);
  ASSERT_TRUE(
      machine.run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\n v_mov_b32 v30, v5\n s_set_gpr_idx_off\n"
                  "s_set_gpr_idx_on s0, gpr_idx(DST)\n v_mov_b32 v31, v6\n s_set_gpr_idx_off\n"));
  EXPECT_EQ(machine.v(30, 9), 9u);
  EXPECT_EQ(machine.v(31, 9), 5009u);
  EXPECT_FALSE(machine.faulted());
}

TEST(VopIndexing, MovrelAddsM0) {
  TestMachine machine(on(kGfx1030, false));
  for (int lane = 0; lane < 32; ++lane)
    for (uint32_t reg = 0; reg < 40; ++reg)
      machine.set_v(reg, lane, reg * 1000 + static_cast<uint32_t>(lane));
  machine.set_s(isa::slot::kM0, 4);
  machine.set_exec(0xffff);
  ASSERT_TRUE(
      machine.run("v_movrels_b32 v20, v1\n v_movreld_b32 v20, v2\n v_movrelsd_b32 v26, v3\n"));
  EXPECT_EQ(machine.v(20, 3), 5003u);
  EXPECT_EQ(machine.v(20, 16), 20016u);
  EXPECT_EQ(machine.v(24, 3), 2003u);
  EXPECT_EQ(machine.v(30, 3), 7003u);
  machine.set_s(isa::slot::kM0, 2 | 5 << 16);
  ASSERT_TRUE(machine.run("v_movrelsd_2_b32 v10, v1\n"));
  EXPECT_EQ(machine.v(15, 3), 3003u);
  EXPECT_EQ(machine.v(15, 17), 15017u);
  machine.set_s(isa::slot::kM0, 1000);
  ASSERT_TRUE(machine.run("v_movreld_b32 v20, v2\n v_movrels_b32 v21, v2\n"));
  EXPECT_EQ(machine.v(21, 3), 3u);
  EXPECT_FALSE(machine.faulted());
}

TEST(VopSwap, ExchangesActiveLanesOnly) {
  TestMachine machine(on(kGfx1030, false));
  machine.fill_v(1, 11);
  machine.fill_v(2, 22);
  machine.set_exec(0xf);
  ASSERT_TRUE(machine.run("v_swap_b32 v1, v2\n"));
  EXPECT_EQ(machine.v(1, 0), 22u);
  EXPECT_EQ(machine.v(2, 0), 11u);
  EXPECT_EQ(machine.v(1, 4), 11u);
  EXPECT_EQ(machine.v(2, 4), 22u);
  machine.set_s(isa::slot::kM0, 1 | 2 << 16);
  machine.fill_v(6, 66);
  machine.fill_v(8, 88);
  ASSERT_TRUE(machine.run("v_swaprel_b32 v6, v5\n"));  // v[6 + 2] with v[5 + 1]
  EXPECT_EQ(machine.v(8, 0), 66u);
  EXPECT_EQ(machine.v(6, 0), 88u);
  EXPECT_EQ(machine.v(8, 5), 88u);
}

// Encodings that LLVM 19 does not write; a newer one does.
TEST(VopHalves, MoveAndSwapInTheLongAndShortForms) {
  TestMachine machine({.target = kGfx1100, .wave64 = true, .vgprs = 160});
  machine.fill_v(1, 0x22221111);
  machine.fill_v(131, 0x44443333);
  // v_mov_b16_e64 v1.h, v131.l; v131.l, v1.h; v131.l, 0x3456
  ASSERT_TRUE(machine.run(".long 0xd59c4001, 0x183\n"));
  EXPECT_EQ(machine.v(1, 0), 0x33331111u);
  ASSERT_TRUE(machine.run(".long 0xd59c0883, 0x101\n"));
  EXPECT_EQ(machine.v(131, 0), 0x44443333u);
  ASSERT_TRUE(machine.run(".long 0xd59c0083, 0xff, 0x3456\n"));
  EXPECT_EQ(machine.v(131, 0), 0x44443456u);
  machine.fill_v(2, 0x66665555);
  machine.set_exec(0xf);
  ASSERT_TRUE(machine.run(".long 0x7e02cd82\n"));  // v_swap_b16 v1.l, v2.h
  EXPECT_EQ(machine.v(1, 0), 0x33336666u);
  EXPECT_EQ(machine.v(2, 0), 0x11115555u);
  EXPECT_EQ(machine.v(2, 4), 0x66665555u);
  ASSERT_TRUE(machine.run(".long 0x7f02cd01\n"));  // v_swap_b16 v1.h, v1.l
  EXPECT_EQ(machine.v(1, 0), 0x66663333u);
  machine.fill_v(1, 0x00013c00);
  machine.fill_v(3, 0);
  ASSERT_TRUE(machine.run(".long 0x77070301\n"));  // v_ldexp_f16_e32 v3.h, v1.l, v1.h
  EXPECT_EQ(machine.v(3, 0), 0x40000000u);
}

TEST(VopHalves, MultiplyAndAddALiteral) {
  TestMachine machine({.target = kGfx1100, .wave64 = false});
  machine.fill_v(1, 0x3c004200);  // 1 and 3
  machine.fill_v(3, 0x1111);
  ASSERT_TRUE(machine.run(".long 0x6f070301, 0x4000\n"));  // v_fmamk_f16 v3.h, v1.l, 2.0, v1.h
  EXPECT_EQ(machine.v(3, 0), 0x47001111u);
  ASSERT_TRUE(machine.run(".long 0x70070301, 0x4500\n"));  // v_fmaak_f16 v3.l, v1.l, v1.h, 5.0
  EXPECT_EQ(machine.v(3, 0), 0x47004800u);
  ASSERT_TRUE(machine.run(".long 0x6e060381, 0x4500\n"));  // v_fmamk_f16 v3.l, v1.h, 5.0, v1.l
  EXPECT_EQ(machine.v(3, 0), 0x47004800u);
}

TEST(VopSad, QuadMaskedSumsFillFourRegisters) {
  TestMachine machine(on(kGfx90a));
  std::mt19937_64 random(5);
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v64(0, lane, random());
    machine.set_v(2, lane,
                  static_cast<uint32_t>(random()) & (lane % 3 == 0 ? 0xff00ffffu : 0xffffffffu));
    for (uint32_t reg = 4; reg < 8; ++reg)
      machine.set_v(reg, lane, lane % 5 == 0 ? 0xfffffff0u : static_cast<uint32_t>(random()));
  }
  ASSERT_TRUE(
      machine.run("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]\n v_mqsad_u32_u8 v[12:15], v[0:1], "
                  "v2, v[4:7] clamp\n"));
  for (int lane = 0; lane < 64; ++lane)
    for (uint32_t part = 0; part < 4; ++part) {
      uint64_t sum = machine.v(4 + part, lane);
      for (uint32_t i = 0; i < 4; ++i) {
        const int a = static_cast<int>(machine.v64(0, lane) >> 8 * (part + i) & 0xff),
                  b = static_cast<int>(machine.v(2, lane) >> 8 * i & 0xff);
        if (b != 0) sum += static_cast<uint64_t>(std::abs(a - b));
      }
      EXPECT_EQ(machine.v(8 + part, lane), static_cast<uint32_t>(sum));
      EXPECT_EQ(machine.v(12 + part, lane),
                static_cast<uint32_t>(std::min<uint64_t>(sum, 0xffffffff)));
    }
}

TEST(VopNop, ChangesNothing) {
  TestMachine machine(on(kGfx1030, false));
  machine.fill_v(0, 1);
  ASSERT_TRUE(machine.run("v_nop\n v_pipeflush\n v_clrexcp\n"));
  EXPECT_FALSE(machine.faulted());
  EXPECT_EQ(machine.v(0), 1u);
}

}  // namespace
}  // namespace wavetap::emu
