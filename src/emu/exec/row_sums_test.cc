// The host's vectors against plain loops, bit for bit: sums of products, halves, 8-bit formats.
#include "emu/exec/row_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "emu/exec/float_ops.h"
#include "emu/exec/host_halves.h"

namespace wavetap::emu {
namespace {

using matrix::SumStep;

template <class Value>
uint64_t bits_or_nan(Value value) {
  if (value != value) return ~uint64_t{0};
  if constexpr (std::is_integral_v<Value>) {
    return static_cast<uint32_t>(value);
  } else {
    return bits_of(value);
  }
}

// `make` gives inputs, one after another; the reference adds in ascending k.
template <SumStep kStep, bool kFlush, class Value, int M, int K, class Make>
void check_sums(Make&& make) {
  constexpr int kRows = matrix::kRowsTogether<Value, M>;
  for (int round = 0; round < 50; ++round) {
    std::vector<Value> a(K * M), b(K * M), c(M * M), d(M * M);
    for (auto* values : {&a, &b, &c})
      for (Value& value : *values) value = make();
    for (int i = 0; i < M; i += kRows) {
      const void* from[kRows];
      void* to[kRows];
      for (int r = 0; r < kRows; ++r) {
        from[r] = c.data() + (i + r) * M;
        to[r] = d.data() + (i + r) * M;
      }
      matrix::sum_products<kStep, kFlush, M, K, kRows, Value>(
          [&](int k) { return a.data() + k * M; }, i, [&](int k) { return b.data() + k * M; }, from,
          to);
    }
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < M; ++j) {
        const auto flushed = [](Value value) {
          if constexpr (kFlush) return flush_denormal(value);
          return value;
        };
        Value sum = flushed(c[static_cast<size_t>(i * M + j)]);
        for (int k = 0; k < K; ++k) {
          const Value factor = a[static_cast<size_t>(k * M + i)];
          const Value value = b[static_cast<size_t>(k * M + j)];
          if constexpr (kStep == SumStep::kFused) {
            sum = std::fma(factor, value, sum);
          } else {
            volatile Value product = factor * value;  // rounded, whatever the compiler likes
            sum = sum + product;
          }
        }
        ASSERT_EQ(bits_or_nan(d[static_cast<size_t>(i * M + j)]), bits_or_nan(flushed(sum)))
            << "row " << i << " column " << j;
      }
    }
  }
}

// Any bits: NaNs, infinities and denormals come along, more often than by chance.
struct AnyFloat {
  std::mt19937 random{31};
  float operator()() {
    switch (random() % 64) {
      case 0: return f32_of(random() & 0x807fffffu);
      case 1: return f32_of(0x7f800000u | (random() & 0x80000000u));
      case 2: return random() % 8 == 0 ? f32_of(kDefaultNanF32) : 0;
      default: return f32_of(random());
    }
  }
};
struct AnyHalf {
  std::mt19937 random{32};
  float operator()() {
    const uint32_t bits = random() & 0xffff;
    // Infinities and NaNs now and then only, or every sum would be one.
    return half_to_float((bits & 0x7c00u) == 0x7c00u && random() % 64 != 0 ? bits & 0xbfffu : bits);
  }
};

TEST(RowSums, FusedProductsAreRoundedOnce) {
  check_sums<SumStep::kFused, false, float, 32, 2>(AnyFloat{});
  check_sums<SumStep::kFused, false, float, 16, 4>(AnyFloat{});
  check_sums<SumStep::kFused, false, float, 4, 1>(AnyFloat{});
  std::mt19937_64 random(33);
  const auto any_double = [&] { return f64_of(random()); };
  check_sums<SumStep::kFused, false, double, 16, 4>(any_double);
  check_sums<SumStep::kFused, false, double, 4, 4>(any_double);
}

TEST(RowSums, RoundedProductsAreRoundedTwice) {
  check_sums<SumStep::kRounded, false, float, 32, 8>(AnyFloat{});
  check_sums<SumStep::kRounded, true, float, 16, 16>(AnyFloat{});
}

TEST(RowSums, ExactProductsGiveTheSameSumFusedOrNot) {
  check_sums<SumStep::kFusedIfNumber, false, float, 32, 8>(AnyHalf{});
  check_sums<SumStep::kFusedIfNumber, true, float, 16, 16>(AnyHalf{});
  check_sums<SumStep::kFusedIfNumber, false, float, 4, 4>(AnyHalf{});
}

TEST(RowSums, IntegersWrap) {
  std::mt19937 random(34);
  const auto any_byte = [&] { return static_cast<int32_t>(static_cast<int8_t>(random())); };
  check_sums<SumStep::kRounded, false, int32_t, 32, 16>(any_byte);
}

// All halves, 64 dwords at a time.
template <bool kFlush>
void check_halves() {
  for (uint32_t first = 0; first < 0x10000; first += 64) {
    uint32_t words[64];
    float low[64], high[64];
    bool has_nan = false;
    for (uint32_t i = 0; i < 64; ++i) {
      // The high half: the same numbers, otherwise ordered.
      words[i] = (first + i) | (first + 63 - i) << 16;
      has_nan |= is_nan_bits16(first + i);
    }
    const bool done = matrix::read_finite_halves<64, kFlush>(words, low, high);
    EXPECT_FALSE(done && has_nan) << first;
    if (!done) continue;
    for (uint32_t i = 0; i < 64; ++i) {
      const auto expected = [](uint32_t half) {
        return bits_of(half_to_float(kFlush ? flush_bits16(half) : half));
      };
      ASSERT_EQ(bits_of(low[i]), expected(first + i));
      ASSERT_EQ(bits_of(high[i]), expected(first + 63 - i));
    }
  }
}

TEST(HostHalves, AreThoseOfTheEngine) {
  check_halves<false>();
  check_halves<true>();
}

TEST(EightBits, DecodeToTheValuesOfTheFormat) {
  const auto value = [](uint32_t code, int mantissa_bits) {
    const int exponent = static_cast<int>(code & 0x7f) >> mantissa_bits;
    const int mantissa = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
    const int bias = 1 << (6 - mantissa_bits);
    const int hidden = exponent == 0 ? 0 : 1 << mantissa_bits;
    const float magnitude = std::ldexp(static_cast<float>(mantissa + hidden),
                                       (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    return (code & 0x80) != 0 ? -magnitude : magnitude;
  };
  for (uint32_t code = 0; code < 256; ++code) {
    if (code == 0x80) continue;
    EXPECT_EQ(bits_of(fp8_to_float(code)), bits_of(value(code, 3))) << code;
    EXPECT_EQ(bits_of(bf8_to_float(code)), bits_of(value(code, 2))) << code;
  }
  EXPECT_EQ(bits_of(fp8_to_float(0x80)), kDefaultNanF32);
  EXPECT_EQ(bits_of(bf8_to_float(0x80)), kDefaultNanF32);
}

}  // namespace
}  // namespace wavetap::emu
