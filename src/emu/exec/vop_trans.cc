// Transcendental operations. The hardware's results are not specified bit for bit, only to about
// one unit in the last place (f64: to 2^-25 or so of the value, refined by the compiler's
// sequences). Here they are computed in double and rounded once, hence at least as accurate, and
// the same on every host but for the last bit of the C library's exp2 and log2.
//
// What is specified, and followed: f32 forms treat denormal inputs as zero and turn denormal
// results into zero whatever MODE says; f16 and f64 forms keep denormals. v_sin and v_cos take
// revolutions, and give 0 and 1 outside of [-256, 256].
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

constexpr auto kReciprocal = [](auto a) { return 1 / a; };
constexpr auto kSquareRoot = [](auto a) { return std::sqrt(a); };
constexpr auto kReciprocalRoot = [](double a) { return 1 / std::sqrt(a); };
constexpr auto kExp2 = [](double a) { return std::exp2(a); };
constexpr auto kLog2 = [](double a) { return std::log2(a); };

// sin(2 pi * turns) for turns of [-1/4, 1/4]: the Taylor series, whose first term left out is below
// 2^-51 of the result.
inline double sine_series(double turns) {
  const double x = turns * kTwoPi;
  const double square = x * x;
  const double fourth = square * square;
  double sum = -1.0 / 121645100408832000;  // 19!
  sum = sum * fourth + (square * (1.0 / 355687428096000) - 1.0 / 1307674368000);
  sum = sum * fourth + (square * (1.0 / 6227020800) - 1.0 / 39916800);
  sum = sum * fourth + (square * (1.0 / 362880) - 1.0 / 5040);
  sum = sum * fourth + (square * (1.0 / 120) - 1.0 / 6);
  return x + x * (sum * square);
}

// Bits of sin(2 pi * turns) for turns of [0, 257]. Reduced to a quarter turn around zero, which is
// exact. Without calls, branches or selections that compilers turn into branches, so that it
// vectorises; and whatever the host's rounding mode is. A zero is positive.
inline uint64_t sine_of_turns(double turns) {
  const int32_t half_turns = static_cast<int32_t>(turns * 2 + 0.5);
  const double rest = turns - half_turns * 0.5;
  const uint64_t is_zero = rest == 0 ? ~uint64_t{0} : 0;
  const uint64_t turned = static_cast<uint64_t>(half_turns) << 63;
  return (bits_of(sine_series(rest)) ^ turned) & ~is_zero;
}
constexpr uint64_t kSignF64 = uint64_t{1} << 63;

// Infinities and NaN give NaN. A zero has the sign of the operand.
constexpr auto kSine = [](double revolutions) {
  const double turns = std::fabs(revolutions);
  const uint64_t inside = turns <= 256 ? ~uint64_t{0} : 0;
  const uint64_t sine =
      sine_of_turns(f64_of(bits_of(turns) & inside)) ^ (bits_of(revolutions) & kSignF64);
  const uint64_t outside = bits_of(std::fabs(revolutions - revolutions));
  return f64_of((sine & inside) | (outside & ~inside));
};
// A quarter turn ahead. That sum is exact wherever the result is near zero.
constexpr auto kCosine = [](double revolutions) {
  const double turns = std::fabs(revolutions);
  const uint64_t inside = turns <= 256 ? ~uint64_t{0} : 0;
  const uint64_t cosine = sine_of_turns(f64_of(bits_of(turns) & inside) + 0.25);
  const uint64_t outside = bits_of(1.0 + std::fabs(revolutions - revolutions));
  return f64_of((cosine & inside) | (outside & ~inside));
};

// The f32 form of a function on double.
template <class F>
struct Single {
  static constexpr bool kIsLong = true;
  float operator()(float a) const {
    return flush_denormal(static_cast<float>(F{}(static_cast<double>(flush_denormal(a)))));
  }
};
// The f16 form: rounding to float first is harmless, float has more than twice the digits.
template <class F>
struct Half {
  float operator()(float a) const { return static_cast<float>(F{}(static_cast<double>(a))); }
};

// --- Quick forms (lanes.h) of the f32 sine and cosine: the reduction in single precision, where it
// --- is exact too.

struct Reduced {
  float rest;       // of turns, a quarter at most
  uint32_t turned;  // sign bit: an odd number of half turns was taken off
  uint32_t doubt;
};
// `magnitude`: bits of the absolute value. Only right when the host rounds to nearest.
inline Reduced reduce_turns(uint32_t magnitude) {
  // A sum of this size has no fraction, and its last bit is the unit.
  constexpr float kToInteger = 0x1.8p23f;
  const float turns = f32_of(magnitude);
  const float shifted = turns * 2 + kToInteger;
  const float rest = turns - (shifted - kToInteger) * 0.5f;
  return {rest, bits_of(shifted) << 31, magnitude > 0x43800000u ? 1u : 0};  // 256, infinity, NaN
}

struct Sine : Single<decltype(kSine)> {
  static QuickResult quick(float revolutions) {
    const uint32_t bits = flush_bits32(bits_of(revolutions));
    const Reduced reduced = reduce_turns(bits & 0x7fffffffu);
    const uint32_t sine =
        bits_of(static_cast<float>(sine_series(static_cast<double>(reduced.rest)))) ^
        reduced.turned;
    return {(reduced.rest == 0 ? 0 : sine) ^ (bits & 0x80000000u), reduced.doubt};
  }
};
struct Cosine : Single<decltype(kCosine)> {
  static QuickResult quick(float revolutions) {
    const Reduced reduced = reduce_turns(flush_bits32(bits_of(revolutions)) & 0x7fffffffu);
    const double from_zero = 0.25 - static_cast<double>(std::fabs(reduced.rest));
    // A zero is positive: a quarter lies between two half turns, and the even one is taken.
    return {bits_of(static_cast<float>(sine_series(from_zero))) ^ reduced.turned, reduced.doubt};
  }
};

// --- Quick forms of the f32 exponential and logarithm: a series in double whose error is some
// --- 2^-50 of the result. Unless that is near the middle between two floats, it rounds to the float
// --- to which the C library's value rounds, whose error is smaller still; near it there is doubt.
// --- All 2^32 operands have been compared.

// a * b + c, in whichever way is quicker: the error allowed for covers both.
inline double multiply_add(double a, double b, double c) {
#if defined(__aarch64__) || defined(__FMA__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Not zero when `value` is within 2^-45 or so of the middle between two floats.
inline uint32_t rounding_doubt(double value) {
  constexpr uint32_t kDropped = 29;  // bits
  constexpr uint32_t kMargin = 128;
  const auto dropped = static_cast<uint32_t>(bits_of(value)) & ((1u << kDropped) - 1);
  return dropped - ((1u << (kDropped - 1)) - kMargin) < 2 * kMargin ? 1u : 0;
}

struct Exp2 : Single<decltype(kExp2)> {
  static QuickResult quick(float power) {
    // A sum of this size has no fraction, and its last bit is the unit.
    constexpr double kToInteger = 0x1.8p52;
    // Beyond these the result is zero or infinite. A NaN goes through, and is in doubt.
    const float inside = power < -127 ? -127 : power > 128 ? 128 : power;
    const double x = static_cast<double>(inside);
    const double shifted = x + kToInteger;
    const double t = (x - (shifted - kToInteger)) * 0.693147180559945309417232121458;
    // The series of e^t, |t| < 0.347, in four parts that do not wait for each other.
    const double t2 = t * t;
    const double t4 = t2 * t2;
    const double a = multiply_add(t2, multiply_add(t, 1.0 / 6, 0.5), t + 1);
    const double b = multiply_add(t2, multiply_add(t, 1.0 / 5040, 1.0 / 720),
                                  multiply_add(t, 1.0 / 120, 1.0 / 24));
    const double c = multiply_add(t2, multiply_add(t, 1.0 / 39916800, 1.0 / 3628800),
                                  multiply_add(t, 1.0 / 362880, 1.0 / 40320));
    const double d = multiply_add(t, 1.0 / 6227020800, 1.0 / 479001600);
    const double series = multiply_add(t4, multiply_add(t4, multiply_add(t4, d, c), b), a);
    const double result = f64_of(bits_of(series) + (bits_of(shifted) << 52));
    return {flush_bits32(bits_of(static_cast<float>(result))),
            rounding_doubt(result) | (power != power ? 1u : 0)};
  }
};

struct Log2 : Single<decltype(kLog2)> {
  static QuickResult quick(float number) {
    // number = 2^exponent * z, z of [sqrt(1/2), sqrt(2)).
    constexpr uint32_t kRootHalf = 0x3f3504f3u;
    const uint32_t bits = bits_of(number);
    const uint32_t above = bits - kRootHalf;
    const int32_t exponent = static_cast<int32_t>(above) >> 23;
    const double z = static_cast<double>(f32_of((above & 0x007fffffu) + kRootHalf));
    // log2(z) = 2 / ln 2 * artanh((z - 1) / (z + 1)), and that by its series: |s| < 0.172.
    const double s = (z - 1) / (z + 1);
    const double u = s * s;
    const double u2 = u * u;
    const double u4 = u2 * u2;
    const double a =
        multiply_add(u2, multiply_add(u, 1.0 / 7, 1.0 / 5), multiply_add(u, 1.0 / 3, 1.0));
    const double b =
        multiply_add(u2, multiply_add(u, 1.0 / 15, 1.0 / 13), multiply_add(u, 1.0 / 11, 1.0 / 9));
    const double c =
        multiply_add(u2, multiply_add(u, 1.0 / 23, 1.0 / 21), multiply_add(u, 1.0 / 19, 1.0 / 17));
    const double series = multiply_add(u4, multiply_add(u4, c, b), a);
    const double result =
        multiply_add(s * 2.88539008177792681471984936200378, series, static_cast<double>(exponent));
    // Zeros and denormals: minus infinity. Infinity, NaN and what is negative is in doubt.
    const bool is_zero = (bits & 0x7f800000u) == 0;
    const bool is_number = bits - 0x00800000u < 0x7f000000u;
    const uint32_t doubt = is_number ? rounding_doubt(result) : 1u;
    return {is_zero ? 0xff800000u : bits_of(static_cast<float>(result)), is_zero ? 0 : doubt};
  }
};

template <class F>
constexpr Single<F> single(F) {
  return {};
}

// Division and root are rounded correctly, and double has more than twice the digits of float: its
// result rounded again is the float operation's own.
template <class F>
struct Rounded {
  static constexpr bool kIsLong = true;
  float operator()(float a) const { return flush_denormal(F{}(flush_denormal(a))); }
};
template <class F>
constexpr Rounded<F> rounded(F) {
  return {};
}
template <class F>
constexpr Half<F> half(F) {
  return {};
}

// "Legacy" forms of gfx8 and gfx9, for DirectX 9 and old compilers: the same function.
// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_rcp_f32, arith<F32(F32)>(rounded(kReciprocal)).flops(1)},
    {Op::v_rcp_iflag_f32, arith<F32(F32)>(rounded(kReciprocal)).flops(1)},
    {Op::v_rsq_f32, arith<F32(F32)>(single(kReciprocalRoot)).flops(1)},
    {Op::v_sqrt_f32, arith<F32(F32)>(rounded(kSquareRoot)).flops(1)},
    {Op::v_exp_f32, arith<F32(F32)>(Exp2{}).flops(1)},
    {Op::v_log_f32, arith<F32(F32)>(Log2{}).flops(1)},
    {Op::v_exp_legacy_f32, arith<F32(F32)>(Exp2{}).flops(1)},
    {Op::v_log_legacy_f32, arith<F32(F32)>(Log2{}).flops(1)},
    {Op::v_sin_f32, arith<F32(F32)>(Sine{}).flops(1)},
    {Op::v_cos_f32, arith<F32(F32)>(Cosine{}).flops(1)},

    {Op::v_rcp_f16, arith<F16(F16)>(half(kReciprocal)).flops(1)},
    {Op::v_rsq_f16, arith<F16(F16)>(half(kReciprocalRoot)).flops(1)},
    {Op::v_sqrt_f16, arith<F16(F16)>(half(kSquareRoot)).flops(1)},
    {Op::v_exp_f16, arith<F16(F16)>(half(kExp2)).flops(1)},
    {Op::v_log_f16, arith<F16(F16)>(half(kLog2)).flops(1)},
    {Op::v_sin_f16, arith<F16(F16)>(half(kSine)).flops(1)},
    {Op::v_cos_f16, arith<F16(F16)>(half(kCosine)).flops(1)},

    {Op::v_rcp_f64, arith<F64(F64)>(kReciprocal).flops(1)},
    {Op::v_rsq_f64, arith<F64(F64)>(kReciprocalRoot).flops(1)},
    {Op::v_sqrt_f64, arith<F64(F64)>(kSquareRoot).flops(1)},
});
// clang-format on

}  // namespace

const VopRow* find_trans_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
