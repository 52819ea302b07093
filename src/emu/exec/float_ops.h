// Scalar floating-point helpers that the host's operators do not give: 16-bit and 8-bit formats,
// denormal flushing, NaN rules, and conversions that saturate instead of being undefined.
//
// Everything works on values or raw bits and keeps no state. NaN rule of the engine, the same on
// every host: an arithmetic result that is NaN is the first NaN operand with its quiet bit set, or
// the default NaN (positive, quiet, payload zero) when no operand was NaN.
//
// References: "AMD Instinct MI200 Instruction Set Architecture" and "RDNA 2 Instruction Set
// Architecture", chapters on vector ALU and on floating-point modes; OCP 8-bit formats do not
// apply, gfx940's fp8/bf8 are the FNUZ ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// The exec_vop*.cc files may be compiled several times for different host instruction sets. Their
// code and what they inline live in a namespace of their own so that the linker cannot mix them up.
#ifndef WT_VOP_VARIANT
#define WT_VOP_VARIANT baseline
#define WT_VOP_DEFAULT_VARIANT inline
#else
#define WT_VOP_DEFAULT_VARIANT
#endif

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {

// --- Bits and classes.
inline uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }
inline float f32_of(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double f64_of(uint64_t bits) { return std::bit_cast<double>(bits); }

inline constexpr uint32_t kDefaultNanF32 = 0x7fc00000u;
inline constexpr uint64_t kDefaultNanF64 = 0x7ff8000000000000u;
inline constexpr uint16_t kDefaultNanF16 = 0x7e00u;

inline bool is_nan_bits16(uint32_t bits) { return (bits & 0x7fffu) > 0x7c00u; }
inline bool is_nan_bits32(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan_bits64(uint64_t bits) {
  return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}
inline uint32_t quiet16(uint32_t bits) { return bits | 0x0200u; }
inline uint32_t quiet32(uint32_t bits) { return bits | 0x00400000u; }
inline uint64_t quiet64(uint64_t bits) { return bits | 0x0008000000000000u; }
inline bool is_signaling(float value) {
  const uint32_t bits = bits_of(value);
  return is_nan_bits32(bits) & ((bits & 0x00400000u) == 0);
}
inline bool is_signaling(double value) {
  const uint64_t bits = bits_of(value);
  return is_nan_bits64(bits) & ((bits & 0x0008000000000000u) == 0);
}
inline float quiet(float value) { return f32_of(quiet32(bits_of(value))); }
inline double quiet(double value) { return f64_of(quiet64(bits_of(value))); }

// --- Denormals become zeros of the same sign.
inline uint32_t flush_bits16(uint32_t bits) {
  return (bits & 0x7c00u) == 0 ? bits & ~0x03ffu : bits;
}
inline uint32_t flush_bits32(uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}
inline uint64_t flush_bits64(uint64_t bits) {
  return (bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits;
}
inline float flush_denormal(float value) { return f32_of(flush_bits32(bits_of(value))); }
inline double flush_denormal(double value) { return f64_of(flush_bits64(bits_of(value))); }

// --- f16. The conversions keep NaN payloads and do not quiet.
inline float half_to_float(uint32_t half) {
  // Shifting the exponent into place leaves it 112 too small; the multiplication corrects that and
  // normalises denormals. Infinity and NaN get the all-ones exponent back.
  const uint32_t shifted = (half & 0x7fffu) << 13;
  const uint32_t finite = bits_of(f32_of(shifted) * 0x1p112f);
  const uint32_t magnitude = (half & 0x7c00u) == 0x7c00u ? shifted | 0x7f800000u : finite;
  return f32_of(magnitude | (half & 0x8000u) << 16);
}

// Round to nearest even.
inline uint32_t float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = (bits & 0x80000000u) >> 16;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: rebias, then add just under half of the dropped part, plus its odd bit.
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Denormal results: adding 0.5 moves the half's units into the low bits, rounding as the host
  // does.
  const uint32_t tiny = bits_of(f32_of(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7c00u | ((magnitude >> 13) & 0x3ffu) |
                                                         ((magnitude & 0x7fe000u) == 0 ? 0x200u : 0)
                                                   : 0x7c00u;
  uint32_t half = normal;
  half = magnitude < 0x38800000u ? tiny : half;
  half = magnitude >= 0x47800000u ? special : half;
  return half | sign;
}

// --- bf16.
inline float bf16_to_float(uint32_t bf16) { return f32_of(bf16 << 16); }
inline uint32_t float_to_bf16(float value) {
  const uint32_t bits = bits_of(value);
  if (is_nan_bits32(bits)) return quiet32(bits) >> 16;
  return (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
}

// --- fp8 (e4m3) and bf8 (e5m2) in their FNUZ form: exponent bias 8 and 16, one NaN (0x80), no
// --- infinities and no negative zero.
inline float fp8_to_float(uint32_t byte) {
  if (byte == 0x80) return f32_of(kDefaultNanF32);
  // The exponent in place is 127 - 8 too small; the product normalises denormals.
  return f32_of((byte & 0x80u) << 24 | bits_of(f32_of((byte & 0x7fu) << 20) * 0x1p119f));
}
inline float bf8_to_float(uint32_t byte) {
  if (byte == 0x80) return f32_of(kDefaultNanF32);
  return f32_of((byte & 0x80u) << 24 | bits_of(f32_of((byte & 0x7fu) << 21) * 0x1p111f));
}

// --- Conversions to integers: toward zero, saturating, NaN gives 0. Written as selects: it
// --- vectorises, and the cast's operand is always in range.
template <class Int, class Float>
Int saturate_cast(Float value) {
  constexpr Float kLow = static_cast<Float>(std::numeric_limits<Int>::min());
  // One past the largest value; a power of two, hence exact.
  constexpr Float kPast = static_cast<Float>(std::numeric_limits<Int>::max() / 2 + 1) * 2;
  const bool in_range = (value > kLow) & (value < kPast);
  Int result = static_cast<Int>(in_range ? value : Float{0});
  result = value <= kLow ? std::numeric_limits<Int>::min() : result;
  return value >= kPast ? std::numeric_limits<Int>::max() : result;
}

// --- Minimum and maximum of two numbers: a NaN operand loses, and -0 < +0.
// `ieee`: a signalling NaN operand wins and is quieted instead.
// Bits of a float as an integer of the same order.
inline int32_t order_key(float value) {
  const int32_t bits = std::bit_cast<int32_t>(value);
  return bits ^ static_cast<int32_t>(static_cast<uint32_t>(bits >> 31) >> 1);
}
inline float from_order_key(int32_t key) {
  return std::bit_cast<float>(key ^ static_cast<int32_t>(static_cast<uint32_t>(key >> 31) >> 1));
}
inline int64_t order_key(double value) {
  const int64_t bits = std::bit_cast<int64_t>(value);
  return bits ^ static_cast<int64_t>(static_cast<uint64_t>(bits >> 63) >> 1);
}
// Without short-circuit operators, so that it becomes selects.
template <class Float>
Float pick_number(Float a, Float b, bool takes_a, bool ieee) {
  Float result = takes_a ? a : b;
  result = b != b ? a : result;
  result = a != a ? b : result;
  result = (ieee & is_signaling(b)) ? quiet(b) : result;
  return (ieee & is_signaling(a)) ? quiet(a) : result;
}
template <class Float>
Float min_number(Float a, Float b, bool ieee) {
  return pick_number(a, b, order_key(a) < order_key(b), ieee);
}
template <class Float>
Float max_number(Float a, Float b, bool ieee) {
  return pick_number(a, b, order_key(a) > order_key(b), ieee);
}

// A half in the upper 16 bits of `bits`, the lower ones zero; finite. (Infinities and NaNs give
// 65536 and more.) Fewer vector instructions than half_to_float().
inline float finite_half_to_float(uint32_t bits) {
  // The sign is shifted along with the exponent, and the copies of it are cut away again.
  const uint32_t shifted = static_cast<uint32_t>(static_cast<int32_t>(bits) >> 3) & 0x8fffffffu;
  return f32_of(shifted) * 0x1p112f;
}

// a * b + c as a float that rounds on to f16 (any mode) as the exact sum would: a and b are f16
// values, so the product is exact in float; the sum is rounded to odd.
inline float fma_for_half(float a, float b, float c) {
  const float product = a * b;
  const float sum = product + c;
  // Knuth's two-sum: sum + error is exact.
  const float rest = sum - product;
  const float error = (product - (sum - rest)) + (c - rest);
  const uint32_t bits = bits_of(sum);
  // Inexact and even: step toward the exact value, which makes the last bit odd. Not for NaN or
  // infinity, whose error is NaN. Arithmetic instead of conditions, so that it vectorises.
  const uint32_t inexact = (bits_of(error) & 0x7fffffffu) - 1 < 0x7f7fffffu ? 1 : 0;
  const uint32_t away_from_zero = 1 - 2 * ((bits ^ bits_of(error)) >> 31);
  return f32_of(bits + away_from_zero * (inexact & ~bits & 1));
}

}  // namespace WT_VOP_VARIANT

// --- Slow paths, compiled once. float_ops.cc

// Any rounding mode (MODE encoding: 0 nearest even, 1 up, 2 down, 3 to zero; plus 4: overflow gives
// the largest finite value). `value` may be wider than 24 bits; the result is rounded once.
uint32_t round_to_half(double value, int round_and_overflow);

// To fp8 and bf8, nearest even. Overflow gives NaN, or the largest finite value when `saturate`.
uint32_t float_to_fp8(float value, bool saturate);
uint32_t float_to_bf8(float value, bool saturate);
// Stochastic: `random`, as a fraction of the last place kept, is added before the rest is dropped.
uint32_t float_to_fp8_stochastic(float value, uint32_t random, bool saturate);
uint32_t float_to_bf8_stochastic(float value, uint32_t random, bool saturate);

}  // namespace wavetap::emu
