// Operations that exist for several floating-point types, written once. f16 arrives as float.
#pragma once

#include "emu/exec/float_ops.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {

inline constexpr auto kAddFloat = [](auto a, auto b) { return a + b; };
inline constexpr auto kSubFloat = [](auto a, auto b) { return a - b; };
inline constexpr auto kSubrevFloat = [](auto a, auto b) { return b - a; };
inline constexpr auto kMulFloat = [](auto a, auto b) { return a * b; };

inline constexpr auto kMinNumber = [](auto a, auto b, bool ieee) { return min_number(a, b, ieee); };
inline constexpr auto kMaxNumber = [](auto a, auto b, bool ieee) { return max_number(a, b, ieee); };
inline constexpr auto kMin3Number = [](auto a, auto b, auto c, bool ieee) {
  return min_number(min_number(a, b, ieee), c, ieee);
};
inline constexpr auto kMax3Number = [](auto a, auto b, auto c, bool ieee) {
  return max_number(max_number(a, b, ieee), c, ieee);
};
inline constexpr auto kMinMaxNumber = [](auto a, auto b, auto c, bool ieee) {
  return max_number(min_number(a, b, ieee), c, ieee);
};
inline constexpr auto kMaxMinNumber = [](auto a, auto b, auto c, bool ieee) {
  return min_number(max_number(a, b, ieee), c, ieee);
};
// The middle one of three numbers; with a NaN among them, the minimum.
inline constexpr auto kMed3Number = [](auto a, auto b, auto c, bool ieee) {
  const auto highest = kMax3Number(a, b, c, ieee);
  auto middle = max_number(a, b, ieee);
  middle = highest == b ? max_number(a, c, ieee) : middle;
  middle = highest == a ? max_number(b, c, ieee) : middle;
  return ((a != a) | (b != b) | (c != c)) ? kMin3Number(a, b, c, ieee) : middle;
};

inline constexpr auto kFloor = [](auto a) { return std::floor(a); };
inline constexpr auto kCeil = [](auto a) { return std::ceil(a); };
inline constexpr auto kTrunc = [](auto a) { return std::trunc(a); };

// To the nearest integer, ties to even, whatever the host's rounding mode is. The sign of zero is
// a's.
inline constexpr auto kRoundEven = [](auto a) {
  using Float = decltype(a);
  const Float down = std::floor(a);
  const Float above = a - down;
  const bool odd = std::floor(down / 2) * 2 != down;
  const Float rounded = above > Float{0.5} || (above == Float{0.5} && odd) ? down + 1 : down;
  // An integer already (also the large ones, infinities and NaN) stays as it is.
  return std::copysign(above > 0 ? rounded : a, a);
};

// The fractional part, always below one: a tiny negative number gives the largest float below one.
template <class Float>
Float below_one();
template <>
inline float below_one<float>() {
  return 0x1.fffffep-1f;
}
template <>
inline double below_one<double>() {
  return 0x1.fffffffffffffp-1;
}
inline constexpr auto kFract = [](auto a) {
  const auto fraction = a - std::floor(a);
  return fraction >= 1 ? below_one<decltype(a)>() : fraction;
};

// 2^exponent as a double, clamped to what keeps float * double exact and in range.
inline double power_of_two(int32_t exponent) {
  const int32_t clamped = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
  return f64_of(static_cast<uint64_t>(clamped + 1023) << 52);
}
// a * 2^exponent, rounded once.
inline constexpr auto kScaleBy = [](float a, int32_t exponent) {
  return static_cast<float>(static_cast<double>(a) * power_of_two(exponent));
};

// a == mantissa * 2^exponent with 0.5 <= |mantissa| < 1; infinities, NaN and zeros are their own
// mantissa and have exponent 0.
inline constexpr auto kMantissa = [](auto a) {
  int exponent = 0;
  return a - a == 0 ? std::frexp(a, &exponent) : a;
};
inline constexpr auto kExponent = [](auto a) {
  int exponent = 0;
  if (a - a == 0) std::frexp(a, &exponent);
  return static_cast<int32_t>(exponent);
};

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
