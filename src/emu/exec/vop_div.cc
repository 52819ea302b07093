// The three steps that frame a division: v_div_scale brings numerator and denominator into a range
// where Newton's iteration neither overflows nor loses bits, v_div_fmas undoes that in its last
// step, and v_div_fixup sets the special cases right. The compiler's sequence around them gives the
// correctly rounded quotient for every pair of operands; division_test checks it.
//
// Reference: the pseudo-code of the MI200 and RDNA 3 manuals. Two places follow the arithmetic
// instead, where the printed text cannot be meant: a huge denominator whose quotient is denormal is
// scaled down, not up; and v_div_fmas multiplies by 2^64 or 2^-64 (f64: 128) depending on the side
// on which the intermediate quotient lies, since v_div_scale scales by that and in both directions.
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

template <class Float>
struct Format;
template <>
struct Format<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr int kExponentMask = 0xff;
  static constexpr int kBias = 127;
  static constexpr int kScale = 64;  // exponent of the scale factor
  static constexpr float kUp = 0x1p64f;
  static constexpr float kDown = 0x1p-64f;
  static constexpr int kNearMax = 96;      // quotients from 2^96 on may overflow on the way
  static constexpr int kTiny = 23;         // biased exponent up to which a numerator loses bits
  static constexpr int kUnderflow = -150;  // quotients below 2^-150 are 0
  static constexpr uint32_t kInvalid = 0xffc00000u;
};
template <>
struct Format<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int kExponentMask = 0x7ff;
  static constexpr int kBias = 1023;
  static constexpr int kScale = 128;
  static constexpr double kUp = 0x1p128;
  static constexpr double kDown = 0x1p-128;
  static constexpr int kNearMax = 768;
  static constexpr int kTiny = 53;
  static constexpr int kUnderflow = -1075;
  static constexpr uint64_t kInvalid = 0xfff8000000000000u;
};

// The exponent field as stored: biased, 0 for zeros and denormals.
template <class Float>
int exponent_field(Float a) {
  return static_cast<int>(bits_of(a) >> Format<Float>::kMantissaBits) &
         Format<Float>::kExponentMask;
}
template <class Float>
bool is_denormal(Float a) {
  return a != 0 && exponent_field(a) == 0;
}
// True for quotients that underflow all the way, too.
template <class Float>
bool quotient_is_denormal(Float a, Float b) {
  return std::fabs(a / b) < std::numeric_limits<Float>::min();
}

// `value` is the numerator or the denominator; the bit tells v_div_fmas to scale back.
template <class Float>
Carried<Float> div_scale(Float value, Float denominator, Float numerator) {
  using Type = Format<Float>;
  const Float up = value * Type::kUp;
  const Float down = value * Type::kDown;
  const bool is_denominator = value == denominator;
  const bool is_numerator = value == numerator;
  if (numerator == 0 || denominator == 0) return {std::numeric_limits<Float>::quiet_NaN(), 0};
  if (exponent_field(numerator) - exponent_field(denominator) >= Type::kNearMax)
    return {is_denominator ? up : value, 1};
  if (is_denormal(denominator)) return {up, 0};
  const bool reciprocal_is_denormal = quotient_is_denormal(Float{1}, denominator);
  const bool result_is_denormal = quotient_is_denormal(numerator, denominator);
  if (reciprocal_is_denormal && result_is_denormal) return {is_denominator ? down : value, 1};
  if (reciprocal_is_denormal) return {down, 0};
  if (result_is_denormal) return {is_numerator ? up : value, 1};
  if (exponent_field(numerator) <= Type::kTiny) return {up, 0};
  return {value, 0};
}

// (a * b + c) * 2^shift, rounded once: the result may be denormal after scaling down.
float scaled_fma(float a, float b, float c, int shift) {
  // The product is exact in double. The sum is rounded to odd, so the final rounding sees what was
  // lost.
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  const double rest = sum - product;
  const double error = (product - (sum - rest)) + (c - rest);
  uint64_t bits = bits_of(sum);
  if (error == error && error != 0 && (bits & 1) == 0)
    bits += (error < 0) == (sum < 0) ? 1 : ~uint64_t{0};
  return static_cast<float>(std::ldexp(f64_of(bits), shift));
}
double scaled_fma(double a, double b, double c, int shift) {
  const double sum = __builtin_fma(a, b, c);
  const double scaled = std::ldexp(sum, shift);
  if (!is_denormal(scaled) || sum - sum != 0) return scaled;
  // Denormal: ldexp rounded a second time. When it met a tie, what the fma lost decides.
  const double back = std::ldexp(scaled, -shift);
  const double step = std::ldexp(std::numeric_limits<double>::denorm_min(), -shift);
  const double lost = __builtin_fma(a, b, c - sum);
  if (std::fabs(back - sum) * 2 != step || lost == 0) return scaled;
  const bool wants_up = lost > 0;
  if (wants_up == (back > sum)) return scaled;
  return wants_up ? std::nextafter(scaled, std::numeric_limits<double>::infinity())
                  : std::nextafter(scaled, -std::numeric_limits<double>::infinity());
}

template <class Float>
Float div_fmas(Float a, Float b, Float c, uint32_t scaled) {
  if (scaled == 0) return std::fma(a, b, c);
  const bool is_large = exponent_field(c) > Format<Float>::kBias;
  return scaled_fma(a, b, c, is_large ? Format<Float>::kScale : -Format<Float>::kScale);
}

// Sign and special cases of numerator / denominator; `quotient` is what the sequence computed.
template <class Float>
Float div_fixup(Float quotient, Float denominator, Float numerator) {
  using Type = Format<Float>;
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](Float magnitude) { return negative ? -magnitude : magnitude; };
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  if (numerator != numerator) return quiet(numerator);
  if (denominator != denominator) return quiet(denominator);
  const bool both_zero = denominator == 0 && numerator == 0;
  const bool both_infinite = std::isinf(denominator) && std::isinf(numerator);
  if (both_zero || both_infinite) return std::bit_cast<Float>(Type::kInvalid);
  if (denominator == 0 || std::isinf(numerator)) return with_sign(kInfinity);
  if (std::isinf(denominator) || numerator == 0) return with_sign(0);
  if (exponent_field(numerator) - exponent_field(denominator) < Type::kUnderflow)
    return with_sign(0);
  // Quotients that overflow make the iteration produce NaN.
  if (quotient != quotient) return with_sign(kInfinity);
  return with_sign(std::fabs(quotient));
}

// --- The f32 steps with quick forms (lanes.h), for when nothing is to be scaled. Zeros and infinite
// --- denominators are among that: kernels that scale rows by their largest value divide by it, and by what
// --- came of that, in rows of padding as well.

struct DivScale {
  Carried<float> operator()(float value, float denominator, float numerator) const {
    return div_scale(value, denominator, numerator);
  }
  static QuickResult quick(float value, float denominator, float numerator) {
    using Type = Format<float>;
    const uint32_t d = bits_of(denominator) >> Type::kMantissaBits & Type::kExponentMask;
    const uint32_t n = bits_of(numerator) >> Type::kMantissaBits & Type::kExponentMask;
    // Normal, with a normal reciprocal: d is below 2^126.
    const bool plain_d = d - 1 <= 251;
    const bool plain_n = n - (Type::kTiny + 1) <= 253 - Type::kTiny;
    // The quotient is above 2^(n - d - 1), hence normal, and far below the largest.
    const bool plain_quotient = n - d + 125 < 125 + Type::kNearMax;
    const bool by_zero = bits_of(denominator) << 1 == 0;
    const bool of_zero = bits_of(numerator) << 1 == 0;
    const bool has_zero = by_zero | of_zero;
    // Scaling down leaves it infinite.
    const bool is_by_infinity = (bits_of(denominator) << 1 == 0xff000000u) & (n < 255) & !has_zero;
    return {has_zero ? kDefaultNanF32 : bits_of(value),
            ((plain_d & plain_n & plain_quotient) | has_zero | is_by_infinity) ? 0u : 1u,
            is_by_infinity ? 1u : 0u};
  }
};

struct DivFmas {
  float operator()(float a, float b, float c, uint32_t scaled) const {
    return div_fmas(a, b, c, scaled);
  }
  static constexpr bool kQuickMakesNans = true;
  static QuickResult quick(float a, float b, float c, uint32_t scaled) {
    const float result = std::fma(a, b, c);
    // Scaled or not, a NaN is one.
    return {bits_of(result), scaled & (result == result ? 1u : 0u)};
  }
};

struct DivFixup {
  float operator()(float quotient, float denominator, float numerator) const {
    return div_fixup(quotient, denominator, numerator);
  }
  static QuickResult quick(float quotient, float denominator, float numerator) {
    using Type = Format<float>;
    constexpr uint32_t kInfinity = 0x7f800000u;
    const uint32_t q = bits_of(quotient) & 0x7fffffffu;
    const uint32_t d = bits_of(denominator) & 0x7fffffffu;
    const uint32_t n = bits_of(numerator) & 0x7fffffffu;
    const uint32_t sign = (bits_of(numerator) ^ bits_of(denominator)) & 0x80000000u;
    const auto apart =
        static_cast<int32_t>((n >> Type::kMantissaBits) - (d >> Type::kMantissaBits));
    uint32_t magnitude = q <= kInfinity ? q : kInfinity;
    magnitude = ((apart < Type::kUnderflow) | (d == kInfinity) | (n == 0)) ? 0 : magnitude;
    magnitude = ((d == 0) | (n == kInfinity)) ? kInfinity : magnitude;
    const bool is_invalid = ((d == 0) & (n == 0)) | ((d == kInfinity) & (n == kInfinity));
    return {is_invalid ? Type::kInvalid : sign | magnitude,
            ((d > kInfinity) | (n > kInfinity)) ? 1u : 0u};
  }
};

// The same for halves, where plain float arithmetic replaces scaling.
uint32_t div_fixup_half(uint32_t quotient, uint32_t denominator, uint32_t numerator) {
  const uint32_t sign = (denominator ^ numerator) & 0x8000u;
  const uint32_t d = denominator & 0x7fffu;
  const uint32_t n = numerator & 0x7fffu;
  if (n > 0x7c00u) return quiet16(numerator);
  if (d > 0x7c00u) return quiet16(denominator);
  if ((d == 0 && n == 0) || (d == 0x7c00u && n == 0x7c00u)) return 0xfe00u;
  if (d == 0 || n == 0x7c00u) return sign | 0x7c00u;
  if (d == 0x7c00u || n == 0) return sign;
  return sign | (quotient & 0x7fffu);
}
// A half as raw bits that still counts as floating point for modifiers and denormal modes.
struct F16Bits {
  using Value = uint32_t;
  static constexpr OperandType kType{16, 1};
  static uint32_t load(const Block& block, size_t k, size_t i) { return block.lo(k, i) & 0xffff; }
  static void store(const Block& block, size_t i, uint32_t value) { block.put_lo(i, value); }
};
constexpr auto kFixupHalf = [](uint32_t a, uint32_t b, uint32_t c) {
  return div_fixup_half(a, b, c);
};

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_div_scale_f32, vop<F32(F32, F32, F32)>(DivScale{})},
    {Op::v_div_scale_f64, vop<F64(F64, F64, F64)>([](double a, double b, double c) { return div_scale(a, b, c); })},
    {Op::v_div_fmas_f32, arith<F32(F32, F32, F32, MaskBit)>(DivFmas{}).flops(2)},
    {Op::v_div_fmas_f64, arith<F64(F64, F64, F64, MaskBit)>([](double a, double b, double c, uint32_t bit) { return div_fmas(a, b, c, bit); }).flops(2)},
    {Op::v_div_fixup_f32, vop<F32(F32, F32, F32)>(DivFixup{})},
    {Op::v_div_fixup_f64, vop<F64(F64, F64, F64)>([](double a, double b, double c) { return div_fixup(a, b, c); })},
    {Op::v_div_fixup_f16, vop<F16Bits(F16Bits, F16Bits, F16Bits)>(kFixupHalf)},
    {Op::v_div_fixup_legacy_f16, vop<F16Bits(F16Bits, F16Bits, F16Bits)>(kFixupHalf)},
});
// clang-format on

}  // namespace

const VopRow* find_div_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
