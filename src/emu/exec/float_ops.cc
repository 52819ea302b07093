#include "emu/exec/float_ops.h"

namespace wavetap::emu {
namespace {

// How far `value` (positive) lies beyond `kept` units decides whether the last place goes up.
bool rounds_up(uint64_t kept, uint64_t dropped, int dropped_bits, bool negative, int round) {
  if (dropped == 0) return false;
  const uint64_t half = uint64_t{1} << (dropped_bits - 1);
  switch (round) {
    case 0: return dropped > half || (dropped == half && (kept & 1) != 0);
    case 1: return !negative;
    case 2: return negative;
    default: return false;
  }
}

// A finite, positive double as mantissa * 2^exponent with a 53-bit mantissa.
struct Parts {
  uint64_t mantissa;
  int exponent;
};
Parts split(double magnitude) {
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  return {static_cast<uint64_t>(std::ldexp(fraction, 53)), exponent - 53};
}

// An 8-bit FNUZ format.
struct Narrow8 {
  int mantissa_bits;
  int bias;
  uint32_t largest;  // the largest finite magnitude's code
};
constexpr Narrow8 kFp8{3, 8, 0x7f};
constexpr Narrow8 kBf8{2, 16, 0x7f};
constexpr uint32_t kNan8 = 0x80;

// `random` is used when `stochastic`: its top bits are added to the bits that are dropped.
uint32_t narrow(float value, Narrow8 format, bool saturate, bool stochastic, uint32_t random) {
  if (value != value) return kNan8;
  const bool negative = std::signbit(value);
  const uint32_t overflow = saturate ? format.largest | (negative ? 0x80u : 0) : kNan8;
  if (std::isinf(value)) return overflow;
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return 0;
  const Parts parts = split(magnitude);
  // Exponent of the leading bit, and of the last place kept (denormals share the smallest one).
  const int leading = parts.exponent + 52;
  const int smallest = 1 - format.bias;
  const int last = std::max(leading, smallest) - format.mantissa_bits;
  const int drop = last - parts.exponent;
  uint64_t kept = drop > 63 ? 0 : parts.mantissa >> drop;
  const uint64_t dropped =
      drop > 63 ? parts.mantissa : parts.mantissa & ((uint64_t{1} << drop) - 1);
  if (stochastic) {
    // The dropped bits as a 32-bit fraction of the last place kept.
    const uint64_t fraction = drop > 95    ? 0
                              : drop >= 32 ? dropped >> (drop - 32)
                                           : dropped << (32 - drop);
    kept += (fraction + random) >> 32;
  } else if (drop <= 63 && rounds_up(kept, dropped, drop, false, 0)) {
    ++kept;
  }
  if (kept == 0) return 0;
  // Back to a code: the mantissa's carry runs into the exponent by itself.
  const uint64_t base = leading < smallest ? 0 : static_cast<uint64_t>(leading + format.bias - 1);
  const uint64_t code = (base << format.mantissa_bits) + kept;
  if (code > format.largest) return overflow;
  return static_cast<uint32_t>(code) | (negative ? 0x80u : 0);
}

}  // namespace

uint32_t round_to_half(double value, int round_and_overflow) {
  const int round = round_and_overflow & 3;
  const bool clamp_overflow = (round_and_overflow & 4) != 0;
  const bool negative = std::signbit(value);
  const uint32_t sign = negative ? 0x8000u : 0;
  if (value != value) {
    const uint32_t payload = static_cast<uint32_t>(std::bit_cast<uint64_t>(value) >> 42 & 0x3ff);
    return sign | 0x7c00u | (payload == 0 ? 0x200u : payload);
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | 0x7c00u;
  if (magnitude == 0) return sign;
  const Parts parts = split(magnitude);
  const int leading = parts.exponent + 52;
  const int last = std::max(leading, -14) - 10;
  const int drop = last - parts.exponent;
  uint64_t kept = 0;
  bool up = false;
  if (drop > 62) {
    // Far below the smallest denormal: only the direction matters.
    up = (round == 1 && !negative) || (round == 2 && negative);
  } else {
    kept = parts.mantissa >> drop;
    up = rounds_up(kept, parts.mantissa & ((uint64_t{1} << drop) - 1), drop, negative, round);
  }
  kept += up ? 1 : 0;
  const int base = leading < -14 ? 0 : leading + 14;
  const uint64_t code = (static_cast<uint64_t>(base) << 10) + kept;
  if (code >= 0x7c00) {
    // Overflow: to infinity, or to the largest finite value when rounding goes the other way.
    const bool to_infinity =
        !clamp_overflow && (round == 0 || (round == 1 && !negative) || (round == 2 && negative));
    return sign | (to_infinity ? 0x7c00u : 0x7bffu);
  }
  return sign | static_cast<uint32_t>(code);
}

uint32_t float_to_fp8(float value, bool saturate) {
  return narrow(value, kFp8, saturate, false, 0);
}
uint32_t float_to_bf8(float value, bool saturate) {
  return narrow(value, kBf8, saturate, false, 0);
}
uint32_t float_to_fp8_stochastic(float value, uint32_t random, bool saturate) {
  return narrow(value, kFp8, saturate, true, random);
}
uint32_t float_to_bf8_stochastic(float value, uint32_t random, bool saturate) {
  return narrow(value, kBf8, saturate, true, random);
}

}  // namespace wavetap::emu
