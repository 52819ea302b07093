#include "emu/exec/buffer_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "emu/exec/float_ops.h"

namespace wavetap::emu {
namespace {

using enum NumberFormat;

// Layouts in the order of gfx9's DFMT. A name lists components from the highest bits down, as AMD
// does; the table lists them from x, the lowest.
enum Layout : uint8_t {
  kInvalid,
  k8,
  k16,
  k8_8,
  k32,
  k16_16,
  k10_11_11,
  k11_11_10,
  k10_10_10_2,
  k2_10_10_10,
  k8_8_8_8,
  k32_32,
  k16_16_16_16,
  k32_32_32,
  k32_32_32_32,
};

constexpr BufferFormat kLayouts[] = {
    {},
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},
    {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}},
    {4, {10, 10, 10, 2}},
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
};

// The combinations gfx10 and gfx11 number, in order from 1: a layout and the number formats it has.
struct Run {
  Layout layout;
  uint8_t numbers;  // bit per NumberFormat
};
constexpr uint8_t kNorms = 1 << int(kUnorm) | 1 << int(kSnorm);
constexpr uint8_t kScaleds = 1 << int(kUscaled) | 1 << int(kSscaled);
constexpr uint8_t kInts = 1 << int(kUint) | 1 << int(kSint);
constexpr uint8_t kFloats = 1 << int(kFloat);
constexpr uint8_t kFixed = kNorms | kScaleds | kInts;

constexpr Run kGfx10[] = {
    {k8, kFixed},
    {k16, kFixed | kFloats},
    {k8_8, kFixed},
    {k32, kInts | kFloats},
    {k16_16, kFixed | kFloats},
    {k10_11_11, kFixed | kFloats},
    {k11_11_10, kFixed | kFloats},
    {k10_10_10_2, kFixed},
    {k2_10_10_10, kFixed},
    {k8_8_8_8, kFixed},
    {k32_32, kInts | kFloats},
    {k16_16_16_16, kFixed | kFloats},
    {k32_32_32, kInts | kFloats},
    {k32_32_32_32, kInts | kFloats},
};

constexpr Run kGfx11[] = {
    {k8, kFixed},
    {k16, kFixed | kFloats},
    {k8_8, kFixed},
    {k32, kInts | kFloats},
    {k16_16, kFixed | kFloats},
    {k10_11_11, kFloats},
    {k11_11_10, kFloats},
    {k10_10_10_2, kNorms | kInts},
    {k2_10_10_10, kFixed},
    {k8_8_8_8, kFixed},
    {k32_32, kInts | kFloats},
    {k16_16_16_16, kFixed | kFloats},
    {k32_32_32, kInts | kFloats},
    {k32_32_32_32, kInts | kFloats},
};

BufferFormat with_number(Layout layout, NumberFormat number) {
  BufferFormat format = kLayouts[layout];
  format.number = number;
  return format;
}

template <size_t N>
BufferFormat numbered(const Run (&runs)[N], uint32_t code) {
  uint32_t next = 1;
  for (const Run& run : runs) {
    for (int number = 0; number <= int(kFloat); ++number) {
      if ((run.numbers >> number & 1) == 0) continue;
      if (next++ == code) return with_number(run.layout, NumberFormat(number));
    }
  }
  return {};
}

uint32_t mask_of(uint32_t bits) { return bits == 32 ? ~0u : (1u << bits) - 1; }

int32_t sign_extend(uint32_t raw, uint32_t bits) {
  return static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
}

// 10- and 11-bit floats: no sign, five exponent bits like a half, so a half without its low
// mantissa bits.
uint32_t half_shift(uint32_t bits) { return 15 - bits; }

double clamped(double value, double low, double high) {
  return value == value ? std::clamp(value, low, high) : 0;
}

}  // namespace

BufferFormat buffer_format(uint32_t code, amd::GfxTarget target) {
  if (target.major == 10) return numbered(kGfx10, code);
  if (target.major >= 11) return numbered(kGfx11, code);
  const uint32_t layout = code & 15, number = code >> 4 & 7;
  if (layout >= std::size(kLayouts) || number == 6) return {};
  return with_number(Layout(layout), number == 7 ? kFloat : NumberFormat(number));
}

uint32_t widen_component(uint32_t raw, uint32_t bits, NumberFormat number) {
  raw &= mask_of(bits);
  switch (number) {
    case kUint: return raw;
    case kSint: return static_cast<uint32_t>(sign_extend(raw, bits));
    case kUscaled: return bits_of(static_cast<float>(raw));
    case kSscaled: return bits_of(static_cast<float>(sign_extend(raw, bits)));
    case kUnorm: return bits_of(static_cast<float>(static_cast<double>(raw) / mask_of(bits)));
    case kSnorm:
      return bits_of(static_cast<float>(
          std::max(-1.0, double(sign_extend(raw, bits)) / (mask_of(bits) >> 1))));
    case kFloat: break;
  }
  if (bits == 32) return raw;
  return bits_of(half_to_float(bits == 16 ? raw : raw << half_shift(bits)));
}

uint32_t narrow_component(uint32_t value, uint32_t bits, NumberFormat number) {
  const double given = f32_of(value);
  const double top = mask_of(bits), signed_top = mask_of(bits) >> 1;
  const auto as_bits = [&](double rounded) {
    return static_cast<uint32_t>(static_cast<int64_t>(rounded)) & mask_of(bits);
  };
  switch (number) {
    case kUint: return std::min(value, mask_of(bits));
    case kSint: return as_bits(clamped(static_cast<int32_t>(value), -signed_top - 1, signed_top));
    case kUscaled: return as_bits(std::nearbyint(clamped(given, 0, top)));
    case kSscaled: return as_bits(std::nearbyint(clamped(given, -signed_top - 1, signed_top)));
    case kUnorm: return as_bits(std::nearbyint(clamped(given, 0, 1) * top));
    case kSnorm: return as_bits(std::nearbyint(clamped(given, -1, 1) * signed_top));
    case kFloat: break;
  }
  if (bits == 32) return value;
  const uint32_t half = float_to_half(f32_of(value));
  if (bits == 16) return half;
  if ((half & 0x8000) != 0 && !is_nan_bits16(half)) return 0;
  const uint32_t shift = half_shift(bits);
  if ((half & 0x7c00) == 0x7c00) return (half & 0x7fff) >> shift;
  return ((half & 0x7fff) + (1u << (shift - 1)) - 1 + (half >> shift & 1)) >> shift;
}

}  // namespace wavetap::emu
