#include "emu/exec/float_ops.h"

#include <cmath>
#include <random>

#include "emu/testing/vop_reference.h"

#include <gtest/gtest.h>

namespace wavetap::emu {
namespace {

TEST(FloatOps, WidensEveryHalf) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float wide = half_to_float(half);
    if (is_nan_bits16(half)) {
      EXPECT_EQ(bits_of(wide), (half & 0x8000) << 16 | 0x7f800000u | (half & 0x3ff) << 13);
    } else {
      ASSERT_EQ(wide, reference_f16(static_cast<uint16_t>(half)));
      ASSERT_EQ(std::signbit(wide), half >= 0x8000);
    }
    ASSERT_EQ(float_to_half(wide), half);
  }
}

TEST(FloatOps, NarrowsValuesBetweenHalvesToTheNearest) {
  std::mt19937 random(1);
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const double below = reference_f16(static_cast<uint16_t>(half));
    const double above = half == 0x7bff ? 65536 : reference_f16(static_cast<uint16_t>(half + 1));
    for (const double at :
         {0.5, 0.25, 0.75, 0.5 - 0x1p-10, 0.5 + 0x1p-10, static_cast<double>(random()) * 0x1p-32}) {
      const float value = static_cast<float>(below + (above - below) * at);
      for (const float signed_value : {value, -value}) {
        ASSERT_EQ(float_to_half(signed_value), reference_to_f16(signed_value))
            << std::hexfloat << signed_value;
        for (int round = 0; round < 4; ++round)
          ASSERT_EQ(round_to_half(signed_value, round), reference_to_f16(signed_value, round))
              << std::hexfloat << signed_value;
      }
    }
  }
}

TEST(FloatOps, RoundsOnceFromDouble) {
  // Just above a tie: rounding to float first would lose that.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(round_to_half(value, 0), 0x3c01u);
  EXPECT_EQ(round_to_half(1 + 0x1p-11, 0), 0x3c00u);
  EXPECT_EQ(round_to_half(0x1p-60, 1), 0x0001u);
  EXPECT_EQ(round_to_half(-0x1p-60, 1), 0x8000u);
  EXPECT_EQ(round_to_half(1e9, 3), 0x7bffu);
  EXPECT_EQ(round_to_half(1e9, 4), 0x7bffu);
  EXPECT_EQ(round_to_half(INFINITY, 4), 0x7c00u);
}

TEST(FloatOps, FusedMultiplyAddOfHalvesIsRoundedOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    const auto pick = [&] {
      return reference_f16(static_cast<uint16_t>(random() % 0x7c00 | (random() & 0x8000)));
    };
    const double a = pick(), b = pick(), c = pick();
    const double product = a * b;
    double sum = product + c;
    const double rest = sum - product, error = (product - (sum - rest)) + (c - rest);
    if (error != 0) sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    const float fused =
        fma_for_half(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
    ASSERT_EQ(float_to_half(fused), reference_to_f16(sum))
        << std::hexfloat << a << " * " << b << " + " << c;
  }
}

TEST(FloatOps, SaturatesConversionsToIntegers) {
  EXPECT_EQ(saturate_cast<int32_t>(2147483648.0f), 2147483647);
  EXPECT_EQ(saturate_cast<int32_t>(-2147483904.0f), -2147483647 - 1);
  EXPECT_EQ(saturate_cast<uint32_t>(-1.0f), 0u);
  EXPECT_EQ(saturate_cast<uint32_t>(4294967296.0f), 0xffffffffu);
  EXPECT_EQ(saturate_cast<int32_t>(NAN), 0);
  EXPECT_EQ(saturate_cast<int16_t>(-1.99f), -1);
  EXPECT_EQ(saturate_cast<uint8_t>(255.9f), 255);
}

TEST(FloatOps, OrdersZerosAndLetsNansLose) {
  EXPECT_TRUE(std::signbit(min_number(0.0f, -0.0f, true)));
  EXPECT_TRUE(std::signbit(min_number(-0.0f, 0.0f, true)));
  EXPECT_FALSE(std::signbit(max_number(-0.0f, 0.0f, true)));
  EXPECT_EQ(min_number(f32_of(0x7fc00001), 3.0f, true), 3.0f);
  EXPECT_EQ(bits_of(max_number(f32_of(0x7f800001), 3.0f, true)), 0x7fc00001u);
  EXPECT_EQ(max_number(f32_of(0x7f800001), 3.0f, false), 3.0f);
}

TEST(FloatOps, ReadsEightBitFormats) {
  EXPECT_EQ(fp8_to_float(0x7f), 240.0f);
  EXPECT_EQ(fp8_to_float(0x01), 0x1p-10f);
  EXPECT_EQ(fp8_to_float(0xc0), -1.0f);
  EXPECT_EQ(bf8_to_float(0x7f), 57344.0f);
  EXPECT_EQ(bf8_to_float(0x01), 0x1p-17f);
  EXPECT_TRUE(std::isnan(fp8_to_float(0x80)));
  for (uint32_t code = 0; code < 256; ++code) {
    EXPECT_EQ(float_to_fp8(fp8_to_float(code), false), code);
    EXPECT_EQ(float_to_bf8(bf8_to_float(code), false), code);
  }
  EXPECT_EQ(float_to_fp8(1e9f, false), 0x80u);
  EXPECT_EQ(float_to_fp8(-1e9f, true), 0xffu);
}

}  // namespace
}  // namespace wavetap::emu
