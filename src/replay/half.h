// Numbers of 16 bits, which C++ 20 has no types for: to and from float.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace wavetap::replay {

// IEEE binary16.
struct Half {
  uint16_t bits = 0;

  float to_float() const {
    const uint32_t exponent = bits >> 10 & 0x1f;
    const uint32_t fraction = bits & 0x3ff;
    float value = 0;
    if (exponent == 0x1f) value = std::bit_cast<float>(0x7f800000u | fraction << 13);
    else if (exponent == 0) value = std::ldexp(static_cast<float>(fraction), -24);
    else value = std::ldexp(static_cast<float>(fraction | 0x400), static_cast<int>(exponent) - 25);
    return (bits & 0x8000) != 0 ? -value : value;
  }
  // To the nearest, ties to even.
  static Half from_float(float value) {
    const auto sign = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16 & 0x8000);
    const auto make = [&](uint32_t magnitude) {
      return Half{static_cast<uint16_t>(sign | magnitude)};
    };
    const float size = std::fabs(value);
    if (std::isnan(value)) return make(0x7e00);
    if (size >= 65520.0f) return make(0x7c00);  // half a step beyond the largest
    // In steps of the smallest number below 2^-14, of 2^-10 of the power of two above.
    const int exponent = size < 0x1p-14f ? -14 : std::ilogb(size);
    const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return make(static_cast<uint32_t>(exponent + 14) * 1024 + steps);
  }
};

// The upper half of a float.
struct BrainHalf {
  uint16_t bits = 0;

  float to_float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static BrainHalf from_float(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return {static_cast<uint16_t>(wide >> 16 | 0x40)};
    return {static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16)};
  }
};

}  // namespace wavetap::replay
