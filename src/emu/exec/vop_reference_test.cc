// The reference for vector operations. See testing/vop_reference.h.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "emu/testing/vop_reference.h"

#include <gtest/gtest.h>

namespace wavetap::emu {
namespace {

using Lane = ReferenceLane;
using Result = ReferenceResult;
using i128 = __int128;

// --- Raw bits to values and back.
float f(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double d(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t raw(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t raw(double value) { return std::bit_cast<uint64_t>(value); }
int64_t i32(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }
int64_t i16(uint64_t bits) { return static_cast<int16_t>(static_cast<uint16_t>(bits)); }
uint64_t u32(uint64_t bits) { return bits & 0xffffffffu; }
uint64_t u16(uint64_t bits) { return bits & 0xffffu; }
uint64_t low(uint64_t bits, int count) {
  return count == 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

int64_t limit(i128 value, i128 lowest, i128 highest) {
  return static_cast<int64_t>(value < lowest ? lowest : value > highest ? highest : value);
}
constexpr i128 kMaxU32 = 0xffffffffu;
constexpr i128 kMinI32 = -2147483648LL;
constexpr i128 kMaxI32 = 2147483647;

// --- NaN rule: the first NaN operand, quieted; else the default NaN.
bool nan32(uint64_t bits) { return std::isnan(f(bits)); }
bool nan64(uint64_t bits) { return std::isnan(d(bits)); }
bool nan16(uint64_t bits) { return (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0; }

Result arith32(float value, std::initializer_list<uint64_t> operands) {
  if (!std::isnan(value)) return {raw(value)};
  for (const uint64_t bits : operands)
    if (nan32(bits)) return {bits | 0x400000};
  return {0x7fc00000};
}
Result arith64(double value, std::initializer_list<uint64_t> operands) {
  if (!std::isnan(value)) return {raw(value)};
  for (const uint64_t bits : operands)
    if (nan64(bits)) return {bits | 0x8000000000000};
  return {0x7ff8000000000000};
}
// `value` must be exact, or rounded to odd beyond f16's precision.
Result arith16(double value, std::initializer_list<uint64_t> operands,
               bool overflow_clamps = false) {
  if (std::isnan(value)) {
    for (const uint64_t bits : operands)
      if (nan16(bits)) return {u16(bits) | 0x200};
    return {0x7e00};
  }
  uint16_t half = reference_to_f16(value);
  if (overflow_clamps && std::isfinite(value) && (half & 0x7fff) == 0x7c00) --half;
  return {half};
}
double h(uint64_t bits) { return reference_f16(static_cast<uint16_t>(bits)); }

// Exact sum of two doubles, rounded to odd: enough for one further rounding to 24 or fewer bits.
double odd_sum(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a + b;
  double sum = a + b;
  const double bb = sum - a;
  const double error = (a - (sum - bb)) + (b - bb);
  if (error != 0 && (raw(sum) & 1) == 0)
    sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
  return sum;
}

float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

// --- Minimum and maximum by cases.
template <class T>
bool is_signaling(T value) {
  if constexpr (sizeof(T) == 4) return std::isnan(value) && (raw(value) & 0x400000) == 0;
  else return std::isnan(value) && (raw(value) & 0x8000000000000) == 0;
}
template <class T>
T quieted(T value) {
  if constexpr (sizeof(T) == 4) return f(raw(value) | 0x400000);
  else return d(raw(value) | 0x8000000000000);
}
template <class T>
T number(bool want_max, T a, T b, bool ieee) {
  if (ieee && is_signaling(a)) return quieted(a);
  if (ieee && is_signaling(b)) return quieted(b);
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) {
    const bool a_negative = std::signbit(a);
    return want_max ? (a_negative ? b : a) : (a_negative ? a : b);
  }
  return want_max ? std::fmax(a, b) : std::fmin(a, b);
}
template <class T>
T median(T a, T b, T c, bool ieee) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c))
    return number(false, number(false, a, b, ieee), c, ieee);
  const T highest = number(true, number(true, a, b, ieee), c, ieee);
  if (highest == a) return number(true, b, c, ieee);
  if (highest == b) return number(true, a, c, ieee);
  return number(true, a, b, ieee);
}
// f16 through float, whose NaNs carry the half's payload in their top bits.
float widen16(uint64_t bits) {
  if (nan16(bits)) return f((bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13);
  return static_cast<float>(h(bits));
}
uint64_t narrow16(float value) {
  if (std::isnan(value)) return (raw(value) >> 16 & 0x8000) | 0x7c00 | (raw(value) >> 13 & 0x3ff);
  return reference_to_f16(value);
}

// --- Conversions to integers.
uint64_t to_int(double value, i128 lowest, i128 highest) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(lowest))
    return static_cast<uint64_t>(static_cast<int64_t>(lowest));
  if (value >= static_cast<double>(highest))
    return static_cast<uint64_t>(static_cast<int64_t>(highest));
  return static_cast<uint64_t>(static_cast<int64_t>(std::trunc(value)));
}
uint64_t snorm(double value) {
  return std::isnan(value) ? 0
                           : u16(static_cast<uint64_t>(
                                 limit(static_cast<i128>(std::clamp(std::floor(value * 32767 + 0.5),
                                                                    -40000.0, 40000.0)),
                                       -32767, 32767)));
}
uint64_t unorm(double value) {
  return std::isnan(value)
             ? 0
             : u16(static_cast<uint64_t>(limit(
                   static_cast<i128>(std::clamp(std::floor(value * 65535 + 0.5), -1.0, 70000.0)), 0,
                   65535)));
}
double round_even(double value) {
  if (!std::isfinite(value) || std::fabs(value) >= 0x1p52) return value;
  double lower = std::floor(value);
  const double fraction = value - lower;
  if (fraction > 0.5 || (fraction == 0.5 && std::fmod(lower, 2) != 0)) lower += 1;
  return std::copysign(lower, value);
}

// --- fp8 and bf8 by searching all codes.
double fp8_value(int code, int mantissa_bits, int bias) {
  const int exponent = (code & 0x7f) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}
uint64_t to_fp8(float value, int mantissa_bits, int bias, bool saturate) {
  if (std::isnan(value)) return 0x80;
  const double magnitude = std::fabs(static_cast<double>(value));
  const uint64_t sign = std::signbit(value) ? 0x80 : 0;
  const double largest = fp8_value(0x7f, mantissa_bits, bias);
  const double past = 2 * largest - fp8_value(0x7e, mantissa_bits, bias);
  if (magnitude >= (largest + past) / 2)
    return saturate ? 0x7f | sign : 0x80;  // a tie goes to the even code past it
  int best = 0;
  for (int code = 1; code < 0x80; ++code) {
    const double now = std::fabs(fp8_value(code, mantissa_bits, bias) - magnitude);
    const double before = std::fabs(fp8_value(best, mantissa_bits, bias) - magnitude);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return best == 0 ? 0 : static_cast<uint64_t>(best) | sign;
}
// Truncates after adding random/2^32 of the last place.
uint64_t to_fp8_stochastic(float value, uint64_t random, int mantissa_bits, int bias,
                           bool saturate) {
  if (std::isnan(value)) return 0x80;
  const double magnitude = std::fabs(static_cast<double>(value));
  const uint64_t sign = std::signbit(value) ? 0x80 : 0;
  const uint64_t overflow = saturate ? 0x7f | sign : 0x80;
  if (std::isinf(value)) return overflow;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int last = std::max(exponent - 1, 1 - bias) - mantissa_bits;
  const double places = std::ldexp(magnitude, -last);  // exact
  double whole = std::floor(places);
  const double fraction = std::floor((places - whole) * 0x1p32);
  if (fraction + static_cast<double>(random) >= 0x1p32) whole += 1;
  const double rounded = std::ldexp(whole, last);
  if (rounded > fp8_value(0x7f, mantissa_bits, bias)) return overflow;
  for (int code = 0; code < 0x80; ++code)
    if (fp8_value(code, mantissa_bits, bias) == rounded)
      return code == 0 ? 0 : static_cast<uint64_t>(code) | sign;
  ADD_FAILURE() << "no code for " << rounded;
  return 0;
}
uint64_t from_fp8(uint64_t code, int mantissa_bits, int bias) {
  return code == 0x80
             ? 0x7fc00000
             : raw(static_cast<float>(fp8_value(static_cast<int>(code), mantissa_bits, bias)));
}

// --- Integers.
uint64_t field_sum(const Lane& in, int count, bool signed_a, bool signed_b, bool signed_c,
                   bool saturate, uint64_t c) {
  const int width = 32 / count;
  i128 sum = signed_c ? i128{i32(c)} : i128{u32(c)};
  for (int i = 0; i < count; ++i) {
    const auto field = [&](uint64_t bits, bool is_signed) {
      int64_t value = static_cast<int64_t>(bits >> i * width & ((1u << width) - 1));
      if (is_signed && value >= 1 << (width - 1)) value -= 1 << width;
      return value;
    };
    sum += field(in.s[0], signed_a) * field(in.s[1], signed_b);
  }
  if (saturate)
    return u32(
        static_cast<uint64_t>(signed_c ? limit(sum, kMinI32, kMaxI32) : limit(sum, 0, kMaxU32)));
  return u32(static_cast<uint64_t>(sum));
}
uint64_t sad(uint64_t a, uint64_t b, bool masked) {
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const int64_t x = static_cast<int64_t>(a >> 8 * i & 0xff);
    const int64_t y = static_cast<int64_t>(b >> 8 * i & 0xff);
    if (!masked || y != 0) sum += std::abs(x - y);
  }
  return static_cast<uint64_t>(sum);
}
uint64_t qsad(const Lane& in, bool masked, bool saturate) {
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t sum = sad(u32(in.s[0] >> 8 * i), in.s[1], masked) + (in.s[2] >> 16 * i & 0xffff);
    if (saturate) sum = std::min<uint64_t>(sum, 0xffff);
    result |= u16(sum) << 16 * i;
  }
  return result;
}
int64_t sext24(uint64_t bits) {
  return (bits & 0x800000) != 0 ? static_cast<int64_t>(bits & 0xffffff) - 0x1000000
                                : static_cast<int64_t>(bits & 0xffffff);
}
int popcount(uint64_t bits) {
  int count = 0;
  for (; bits != 0; bits >>= 1) count += bits & 1;
  return count;
}
uint64_t first_one_from_top(uint64_t bits) {
  for (int i = 0; i < 32; ++i)
    if ((bits >> (31 - i) & 1) != 0) return static_cast<uint64_t>(i);
  return 0xffffffff;
}

using Table = std::map<std::string, ReferenceOp>;
// A line is a row of the table.
// clang-format off

void add_integers(Table& t) {
  const auto b32 = [&](const char* name, const char* types, auto fn) {
    t[name] = {types, [fn](const Lane& in) { return Result{u32(static_cast<uint64_t>(fn(in)))}; }};
  };
  t["v_mov_b32"] = {"b32 b32", [](const Lane& in) { return Result{in.s[0]}; }};
  t["v_mov_b16"] = {"b16 b16", [](const Lane& in) { return Result{in.s[0]}; }};
  t["v_mov_b64"] = {"b64 b64", [](const Lane& in) { return Result{in.s[0]}; }};
  t["v_cndmask_b32"] = {"b32 b32 b32 mask", [](const Lane& in) { return Result{in.mask ? in.s[1] : in.s[0]}; }};
  t["v_cndmask_b16"] = {"b16 b16 b16 mask", [](const Lane& in) { return Result{in.mask ? in.s[1] : in.s[0]}; }};
  for (const char* width : {"32", "16"}) {
    const std::string w = width;
    const uint64_t all = w == "32" ? 0xffffffff : 0xffff;
    const std::string b = "b" + w;
    t["v_not_" + b] = {b + " " + b, [all](const Lane& in) { return Result{in.s[0] ^ all}; }};
    t["v_and_" + b] = {b + " " + b + " " + b, [](const Lane& in) { return Result{in.s[0] & in.s[1]}; }};
    t["v_or_" + b] = {b + " " + b + " " + b, [](const Lane& in) { return Result{in.s[0] | in.s[1]}; }};
    t["v_xor_" + b] = {b + " " + b + " " + b, [](const Lane& in) { return Result{in.s[0] ^ in.s[1]}; }};
    const std::string u = "u" + w, i = "i" + w;
    const i128 top = static_cast<i128>(all);
    const auto sx = [w](uint64_t bits) { return w == "32" ? i32(bits) : i16(bits); };
    const auto sum = [all](int a, int b2) {
      return [=](const Lane& in) { return Result{(a * in.s[0] + b2 * in.s[1]) & all}; };
    };
    const auto sum_u = [top](int a, int b2) {
      return [=](const Lane& in) { return Result{static_cast<uint64_t>(limit(i128{a} * static_cast<i128>(in.s[0]) + i128{b2} * static_cast<i128>(in.s[1]), 0, top))}; };
    };
    const auto sum_i = [=](int a, int b2) {
      return [=](const Lane& in) {
        return Result{static_cast<uint64_t>(limit(i128{a} * sx(in.s[0]) + i128{b2} * sx(in.s[1]), -(top + 1) / 2, top / 2)) & all};
      };
    };
    t["v_add_" + u] = {u + " " + u + " " + u, sum(1, 1), sum_u(1, 1)};
    t["v_sub_" + u] = {u + " " + u + " " + u, sum(1, -1), sum_u(1, -1)};
    t["v_subrev_" + u] = {u + " " + u + " " + u, sum(-1, 1), sum_u(-1, 1)};
    t["v_add_" + i] = {i + " " + i + " " + i, sum(1, 1), sum_i(1, 1)};
    t["v_sub_" + i] = {i + " " + i + " " + i, sum(1, -1), sum_i(1, -1)};
    for (const std::string& type : {u, i}) {
      const bool is_signed = type == i;
      const auto key = [=](uint64_t bits) { return is_signed ? sx(bits) : static_cast<int64_t>(bits); };
      const auto sorted = [=](const Lane& in) {
        std::array<uint64_t, 3> v = {in.s[0], in.s[1], in.s[2]};
        std::sort(v.begin(), v.end(), [&](uint64_t x, uint64_t y) { return key(x) < key(y); });
        return v;
      };
      const auto lesser = [=](uint64_t x, uint64_t y) { return key(x) < key(y) ? x : y; };
      const auto greater = [=](uint64_t x, uint64_t y) { return key(x) < key(y) ? y : x; };
      t["v_min_" + type] = {type + " " + type + " " + type, [=](const Lane& in) { return Result{lesser(in.s[0], in.s[1])}; }};
      t["v_max_" + type] = {type + " " + type + " " + type, [=](const Lane& in) { return Result{greater(in.s[0], in.s[1])}; }};
      const std::string four = type + " " + type + " " + type + " " + type;
      t["v_min3_" + type] = {four, [=](const Lane& in) { return Result{sorted(in)[0]}; }};
      t["v_med3_" + type] = {four, [=](const Lane& in) { return Result{sorted(in)[1]}; }};
      t["v_max3_" + type] = {four, [=](const Lane& in) { return Result{sorted(in)[2]}; }};
      t["v_minmax_" + type] = {four, [=](const Lane& in) { return Result{greater(lesser(in.s[0], in.s[1]), in.s[2])}; }};
      t["v_maxmin_" + type] = {four, [=](const Lane& in) { return Result{lesser(greater(in.s[0], in.s[1]), in.s[2])}; }};
    }
    const int bits = w == "32" ? 32 : 16;
    t["v_lshlrev_" + b] = {b + " " + b + " " + b, [=](const Lane& in) { return Result{low(in.s[1] << in.s[0] % bits, bits)}; }};
    t["v_lshrrev_" + b] = {b + " " + b + " " + b, [=](const Lane& in) { return Result{in.s[1] >> in.s[0] % bits}; }};
    t["v_ashrrev_" + i] = {i + " " + b + " " + i, [=](const Lane& in) { return Result{low(static_cast<uint64_t>(sx(in.s[1]) >> in.s[0] % bits), bits)}; }};
  }
  t["v_lshlrev_b64"] = {"b64 b32 b64", [](const Lane& in) { return Result{in.s[1] << in.s[0] % 64}; }};
  t["v_lshrrev_b64"] = {"b64 b32 b64", [](const Lane& in) { return Result{in.s[1] >> in.s[0] % 64}; }};
  t["v_ashrrev_i64"] = {"i64 b32 i64", [](const Lane& in) { return Result{static_cast<uint64_t>(static_cast<int64_t>(in.s[1]) >> in.s[0] % 64)}; }};
  b32("v_xnor_b32", "b32 b32 b32", [](const Lane& in) { return ~(in.s[0] ^ in.s[1]); });
  b32("v_or3_b32", "b32 b32 b32 b32", [](const Lane& in) { return in.s[0] | in.s[1] | in.s[2]; });
  b32("v_xor3_b32", "b32 b32 b32 b32", [](const Lane& in) { return in.s[0] ^ in.s[1] ^ in.s[2]; });
  b32("v_and_or_b32", "b32 b32 b32 b32", [](const Lane& in) { return (in.s[0] & in.s[1]) | in.s[2]; });
  b32("v_bfi_b32", "b32 b32 b32 b32", [](const Lane& in) {
    uint64_t result = 0;
    for (int i = 0; i < 32; ++i) result |= ((in.s[0] >> i & 1) != 0 ? in.s[1] : in.s[2]) & uint64_t{1} << i;
    return result;
  });
  b32("v_bfm_b32", "b32 b32 b32", [](const Lane& in) {
    uint64_t result = 0;
    for (uint64_t i = 0; i < in.s[0] % 32; ++i) result |= uint64_t{1} << (i + in.s[1] % 32);
    return result;
  });
  b32("v_bfe_u32", "u32 u32 u32 u32", [](const Lane& in) {
    uint64_t result = 0;
    for (uint64_t i = 0; i < in.s[2] % 32; ++i)
      if (i + in.s[1] % 32 < 32) result |= (in.s[0] >> (i + in.s[1] % 32) & 1) << i;
    return result;
  });
  b32("v_bfe_i32", "i32 i32 u32 u32", [](const Lane& in) {
    const uint64_t width = in.s[2] % 32;
    uint64_t result = 0;
    for (uint64_t i = 0; width != 0 && i < 32; ++i) {
      const uint64_t at = std::min<uint64_t>(std::min(i, width - 1) + in.s[1] % 32, 31);
      result |= (in.s[0] >> at & 1) << i;
    }
    return result;
  });
  b32("v_bfrev_b32", "b32 b32", [](const Lane& in) {
    uint64_t result = 0;
    for (int i = 0; i < 32; ++i) result |= (in.s[0] >> i & 1) << (31 - i);
    return result;
  });
  b32("v_ffbh_u32", "u32 u32", [](const Lane& in) { return first_one_from_top(in.s[0]); });
  b32("v_ffbh_i32", "u32 i32", [](const Lane& in) { return first_one_from_top(i32(in.s[0]) < 0 ? u32(~in.s[0]) : in.s[0]); });
  b32("v_ffbl_b32", "u32 b32", [](const Lane& in) {
    for (uint64_t i = 0; i < 32; ++i)
      if ((in.s[0] >> i & 1) != 0) return i;
    return ~uint64_t{0};
  });
  b32("v_bcnt_u32_b32", "u32 b32 u32", [](const Lane& in) { return static_cast<uint64_t>(popcount(in.s[0])) + in.s[1]; });
  b32("v_mbcnt_lo_u32_b32", "u32 b32 u32", [](const Lane& in) {
    uint64_t count = in.s[1];
    for (int i = 0; i < std::min(in.lane, 32); ++i) count += in.s[0] >> i & 1;
    return count;
  });
  b32("v_mbcnt_hi_u32_b32", "u32 b32 u32", [](const Lane& in) {
    uint64_t count = in.s[1];
    for (int i = 32; i < in.lane; ++i) count += in.s[0] >> (i - 32) & 1;
    return count;
  });
  b32("v_lshl_add_u32", "u32 u32 u32 u32", [](const Lane& in) { return (in.s[0] << in.s[1] % 32) + in.s[2]; });
  b32("v_add_lshl_u32", "u32 u32 u32 u32", [](const Lane& in) { return u32(in.s[0] + in.s[1]) << in.s[2] % 32; });
  b32("v_lshl_or_b32", "u32 u32 u32 u32", [](const Lane& in) { return (in.s[0] << in.s[1] % 32) | in.s[2]; });
  t["v_lshl_add_u64"] = {"u64 u64 u32 u64", [](const Lane& in) { return Result{(in.s[0] << (in.s[1] & 7)) + in.s[2]}; }};
  b32("v_alignbit_b32", "b32 b32 b32 b32", [](const Lane& in) { return (in.s[0] << 32 | in.s[1]) >> in.s[2] % 32; });
  b32("v_alignbyte_b32", "b32 b32 b32 b32", [](const Lane& in) { return (in.s[0] << 32 | in.s[1]) >> 8 * (in.s[2] % 4); });
  b32("v_add3_u32", "u32 u32 u32 u32", [](const Lane& in) { return in.s[0] + in.s[1] + in.s[2]; });
  b32("v_xad_u32", "u32 u32 u32 u32", [](const Lane& in) { return (in.s[0] ^ in.s[1]) + in.s[2]; });

  // Carries: a + b + c with signs, as wide as needed.
  const auto carry = [&](const char* name, const char* types, int sa, int sb, int sc) {
    const auto exact = [=](const Lane& in) { return i128{sa} * static_cast<i128>(in.s[0]) + i128{sb} * static_cast<i128>(in.s[1]) + sc * (in.mask ? 1 : 0); };
    t[name] = {types,
               [=](const Lane& in) { const i128 sum = exact(in); return Result{u32(static_cast<uint64_t>(sum)), sum < 0 || sum > kMaxU32}; },
               [=](const Lane& in) { const i128 sum = exact(in); return Result{static_cast<uint64_t>(limit(sum, 0, kMaxU32)), sum < 0 || sum > kMaxU32}; }};
  };
  carry("v_add_co_u32", "u32 u32 u32 +bit", 1, 1, 0);
  carry("v_sub_co_u32", "u32 u32 u32 +bit", 1, -1, 0);
  carry("v_subrev_co_u32", "u32 u32 u32 +bit", -1, 1, 0);
  carry("v_addc_co_u32", "u32 u32 u32 mask +bit", 1, 1, 1);
  carry("v_subb_co_u32", "u32 u32 u32 mask +bit", 1, -1, -1);
  carry("v_subbrev_co_u32", "u32 u32 u32 mask +bit", -1, 1, -1);

  // Products.
  b32("v_mul_lo_u32", "u32 u32 u32", [](const Lane& in) { return in.s[0] * in.s[1]; });
  b32("v_mul_lo_i32", "u32 u32 u32", [](const Lane& in) { return in.s[0] * in.s[1]; });
  b32("v_mul_hi_u32", "u32 u32 u32", [](const Lane& in) { return in.s[0] * in.s[1] >> 32; });
  b32("v_mul_hi_i32", "i32 i32 i32", [](const Lane& in) { return i32(in.s[0]) * i32(in.s[1]) >> 32; });
  b32("v_mul_u32_u24", "u32 u32 u32", [](const Lane& in) { return (in.s[0] & 0xffffff) * (in.s[1] & 0xffffff); });
  b32("v_mul_hi_u32_u24", "u32 u32 u32", [](const Lane& in) { return (in.s[0] & 0xffffff) * (in.s[1] & 0xffffff) >> 32; });
  b32("v_mul_i32_i24", "i32 i32 i32", [](const Lane& in) { return sext24(in.s[0]) * sext24(in.s[1]); });
  b32("v_mul_hi_i32_i24", "i32 i32 i32", [](const Lane& in) { return sext24(in.s[0]) * sext24(in.s[1]) >> 32; });
  t["v_mul_lo_u16"] = {"u16 u16 u16", [](const Lane& in) { return Result{u16(in.s[0] * in.s[1])}; }};
  const auto mad = [&](const std::string& name, const std::string& types, int bits, bool is_signed, auto product) {
    const auto exact = [=](const Lane& in) {
      const i128 c = is_signed ? (bits == 16 ? i16(in.s[2]) : bits == 32 ? i32(in.s[2]) : static_cast<int64_t>(in.s[2])) : static_cast<i128>(in.s[2]);
      return static_cast<i128>(product(in)) + c;
    };
    const i128 span = i128{1} << bits;
    const i128 lowest = is_signed ? -span / 2 : 0;
    const i128 highest = is_signed ? span / 2 - 1 : span - 1;
    t[name] = {types,
               [=](const Lane& in) { const i128 sum = exact(in); return Result{low(static_cast<uint64_t>(sum), bits), sum < lowest || sum > highest}; },
               [=](const Lane& in) {
                 const i128 sum = exact(in);
                 const i128 limited = sum < lowest ? lowest : sum > highest ? highest : sum;
                 return Result{low(static_cast<uint64_t>(limited), bits), sum < lowest || sum > highest};
               }};
  };
  mad("v_mad_u32_u24", "u32 u32 u32 u32", 32, false, [](const Lane& in) { return (in.s[0] & 0xffffff) * (in.s[1] & 0xffffff); });
  mad("v_mad_i32_i24", "i32 i32 i32 i32", 32, true, [](const Lane& in) { return sext24(in.s[0]) * sext24(in.s[1]); });
  mad("v_mad_u64_u32", "u64 u32 u32 u64 +bit", 64, false, [](const Lane& in) { return in.s[0] * in.s[1]; });
  mad("v_mad_i64_i32", "i64 i32 i32 i64 +bit", 64, true, [](const Lane& in) { return i32(in.s[0]) * i32(in.s[1]); });
  mad("v_mad_u32_u16", "u32 u16 u16 u32", 32, false, [](const Lane& in) { return in.s[0] * in.s[1]; });
  mad("v_mad_i32_i16", "i32 i16 i16 i32", 32, true, [](const Lane& in) { return i16(in.s[0]) * i16(in.s[1]); });
  for (const char* legacy : {"", "legacy_"}) {
    mad("v_mad_" + std::string(legacy) + "u16", "u16 u16 u16 u16", 16, false, [](const Lane& in) { return in.s[0] * in.s[1]; });
    mad("v_mad_" + std::string(legacy) + "i16", "i16 i16 i16 i16", 16, true, [](const Lane& in) { return i16(in.s[0]) * i16(in.s[1]); });
  }

  // Bytes.
  b32("v_perm_b32", "b32 b32 b32 b32", [](const Lane& in) {
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const uint64_t select = in.s[2] >> 8 * i & 0xff;
      const auto byte = [&](uint64_t at) { return at < 4 ? in.s[1] >> 8 * at & 0xff : in.s[0] >> 8 * (at - 4) & 0xff; };
      uint64_t value = 0;
      if (select <= 7) value = byte(select);
      else if (select == 8) value = (byte(1) & 0x80) != 0 ? 0xff : 0;
      else if (select == 9) value = (byte(3) & 0x80) != 0 ? 0xff : 0;
      else if (select == 10) value = (byte(5) & 0x80) != 0 ? 0xff : 0;
      else if (select == 11) value = (byte(7) & 0x80) != 0 ? 0xff : 0;
      else if (select != 12) value = 0xff;
      result |= value << 8 * i;
    }
    return result;
  });
  b32("v_lerp_u8", "b32 b32 b32 b32", [](const Lane& in) {
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const auto byte = [&](int source) { return in.s[source] >> 8 * i & 0xff; };
      result |= (byte(0) + byte(1) + byte(2) % 2) / 2 << 8 * i;
    }
    return result;
  });
  const auto summed = [&](const char* name, auto difference) {
    t[name] = {"u32 b32 b32 u32", [=](const Lane& in) { return Result{u32(difference(in) + in.s[2])}; },
               [=](const Lane& in) { return Result{std::min<uint64_t>(difference(in) + in.s[2], 0xffffffff)}; }};
  };
  summed("v_sad_u8", [](const Lane& in) { return sad(in.s[0], in.s[1], false); });
  summed("v_msad_u8", [](const Lane& in) { return sad(in.s[0], in.s[1], true); });
  summed("v_sad_hi_u8", [](const Lane& in) { return sad(in.s[0], in.s[1], false) << 16; });
  summed("v_sad_u16", [](const Lane& in) {
    const auto part = [](uint64_t a, uint64_t b) { return static_cast<uint64_t>(std::abs(static_cast<int64_t>(u16(a)) - static_cast<int64_t>(u16(b)))); };
    return part(in.s[0], in.s[1]) + part(in.s[0] >> 16, in.s[1] >> 16);
  });
  summed("v_sad_u32", [](const Lane& in) { return static_cast<uint64_t>(std::abs(static_cast<int64_t>(in.s[0]) - static_cast<int64_t>(in.s[1]))); });
  t["v_qsad_pk_u16_u8"] = {"u64 u64 u32 u64", [](const Lane& in) { return Result{qsad(in, false, false)}; }, [](const Lane& in) { return Result{qsad(in, false, true)}; }};
  t["v_mqsad_pk_u16_u8"] = {"u64 u64 u32 u64", [](const Lane& in) { return Result{qsad(in, true, false)}; }, [](const Lane& in) { return Result{qsad(in, true, true)}; }};
  t["v_sat_pk_u8_i16"] = {"b16 b32", [](const Lane& in) {
    const auto byte = [](uint64_t bits) { return static_cast<uint64_t>(limit(i16(bits), 0, 255)); };
    return Result{byte(in.s[0]) | byte(in.s[0] >> 16) << 8};
  }};
}

void add_floats(Table& t) {
  const auto two32 = [&](const char* name, auto fn) {
    t[name] = {"f32 f32 f32", [fn](const Lane& in) { return arith32(fn(f(in.s[0]), f(in.s[1])), {in.s[0], in.s[1]}); }};
  };
  const auto three32 = [&](const char* name, bool reads_old, auto fn) {
    t[name] = {reads_old ? "f32 f32 f32 old" : "f32 f32 f32 f32", [=](const Lane& in) {
                 const uint64_t c = reads_old ? in.old : in.s[2];
                 return arith32(fn(f(in.s[0]), f(in.s[1]), f(c)), {in.s[0], in.s[1], c});
               }};
  };
  two32("v_add_f32", [](float a, float b) { return static_cast<float>(static_cast<double>(a) + b); });
  two32("v_sub_f32", [](float a, float b) { return static_cast<float>(static_cast<double>(a) - b); });
  two32("v_subrev_f32", [](float a, float b) { return static_cast<float>(static_cast<double>(b) - a); });
  two32("v_mul_f32", [](float a, float b) { return static_cast<float>(static_cast<double>(a) * b); });
  const auto legacy = [](float a, float b) { return a == 0 || b == 0 ? 0.0f : static_cast<float>(static_cast<double>(a) * b); };
  two32("v_mul_legacy_f32", legacy);
  const auto fma = [](float a, float b, float c) { return static_cast<float>(odd_sum(static_cast<double>(a) * b, c)); };
  const auto fma_legacy = [=](float a, float b, float c) { return a == 0 || b == 0 ? c : fma(a, b, c); };
  const auto mad = [](float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); };
  const auto mad_legacy = [=](float a, float b, float c) { return flush(flush(legacy(flush(a), flush(b))) + flush(c)); };
  three32("v_fma_f32", false, fma);
  three32("v_fmaak_f32", false, fma);
  three32("v_fmamk_f32", false, fma);
  three32("v_fmac_f32", true, fma);
  three32("v_fma_legacy_f32", false, fma_legacy);
  three32("v_fmac_legacy_f32", true, fma_legacy);
  three32("v_mad_f32", false, mad);
  three32("v_madak_f32", false, mad);
  three32("v_madmk_f32", false, mad);
  three32("v_mac_f32", true, mad);
  three32("v_mad_legacy_f32", false, mad_legacy);
  three32("v_mac_legacy_f32", true, mad_legacy);

  t["v_add_f64"] = {"f64 f64 f64", [](const Lane& in) { return arith64(d(in.s[0]) + d(in.s[1]), {in.s[0], in.s[1]}); }};
  t["v_mul_f64"] = {"f64 f64 f64", [](const Lane& in) { return arith64(d(in.s[0]) * d(in.s[1]), {in.s[0], in.s[1]}); }};
  t["v_fma_f64"] = {"f64 f64 f64 f64", [](const Lane& in) { return arith64(std::fma(d(in.s[0]), d(in.s[1]), d(in.s[2])), {in.s[0], in.s[1], in.s[2]}); }};
  t["v_fmac_f64"] = {"f64 f64 f64 old", [](const Lane& in) { return arith64(std::fma(d(in.s[0]), d(in.s[1]), d(in.old)), {in.s[0], in.s[1], in.old}); }};

  const auto two16 = [&](const char* name, auto fn) {
    t[name] = {"f16 f16 f16", [fn](const Lane& in) { return arith16(fn(h(in.s[0]), h(in.s[1])), {in.s[0], in.s[1]}, in.fp16_overflow); }};
  };
  two16("v_add_f16", [](double a, double b) { return a + b; });
  two16("v_sub_f16", [](double a, double b) { return a - b; });
  two16("v_subrev_f16", [](double a, double b) { return b - a; });
  two16("v_mul_f16", [](double a, double b) { return a * b; });
  const auto three16 = [&](const char* name, bool reads_old, auto fn) {
    t[name] = {reads_old ? "f16 f16 f16 old" : "f16 f16 f16 f16", [=](const Lane& in) {
                 const uint64_t c = reads_old ? u16(in.old) : in.s[2];
                 return arith16(fn(h(in.s[0]), h(in.s[1]), h(c)), {in.s[0], in.s[1], c}, in.fp16_overflow);
               }};
  };
  const auto fma16 = [](double a, double b, double c) { return odd_sum(a * b, c); };
  const auto flush16 = [](double value) { return std::fabs(value) < 0x1p-14 ? std::copysign(0.0, value) : value; };
  const auto round16 = [](double value) { return std::isnan(value) ? value : h(reference_to_f16(value)); };
  const auto mad16 = [=](double a, double b, double c) {
    return flush16(round16(flush16(round16(flush16(a) * flush16(b))) + flush16(c)));
  };
  for (const char* name : {"v_fma_f16", "v_fma_legacy_f16", "v_fmaak_f16", "v_fmamk_f16"}) three16(name, false, fma16);
  three16("v_fmac_f16", true, fma16);
  for (const char* name : {"v_mad_f16", "v_mad_legacy_f16", "v_madak_f16", "v_madmk_f16"}) three16(name, false, mad16);
  three16("v_mac_f16", true, mad16);

  // Minimum and maximum.
  for (const bool want_max : {false, true}) {
    const std::string name = want_max ? "v_max" : "v_min";
    t[name + "_f32"] = {"f32 f32 f32", [=](const Lane& in) { return Result{raw(number(want_max, f(in.s[0]), f(in.s[1]), in.ieee))}; }};
    t[name + "_f64"] = {"f64 f64 f64", [=](const Lane& in) { return Result{raw(number(want_max, d(in.s[0]), d(in.s[1]), in.ieee))}; }};
    t[name + "_f16"] = {"f16 f16 f16", [=](const Lane& in) { return Result{narrow16(number(want_max, widen16(in.s[0]), widen16(in.s[1]), in.ieee))}; }};
    t[name + "3_f32"] = {"f32 f32 f32 f32", [=](const Lane& in) { return Result{raw(number(want_max, number(want_max, f(in.s[0]), f(in.s[1]), in.ieee), f(in.s[2]), in.ieee))}; }};
    t[name + "3_f16"] = {"f16 f16 f16 f16", [=](const Lane& in) { return Result{narrow16(number(want_max, number(want_max, widen16(in.s[0]), widen16(in.s[1]), in.ieee), widen16(in.s[2]), in.ieee))}; }};
    const std::string both = want_max ? "v_maxmin" : "v_minmax";
    t[both + "_f32"] = {"f32 f32 f32 f32", [=](const Lane& in) { return Result{raw(number(!want_max, number(want_max, f(in.s[0]), f(in.s[1]), in.ieee), f(in.s[2]), in.ieee))}; }};
    t[both + "_f16"] = {"f16 f16 f16 f16", [=](const Lane& in) { return Result{narrow16(number(!want_max, number(want_max, widen16(in.s[0]), widen16(in.s[1]), in.ieee), widen16(in.s[2]), in.ieee))}; }};
  }
  t["v_med3_f32"] = {"f32 f32 f32 f32", [](const Lane& in) { return Result{raw(median(f(in.s[0]), f(in.s[1]), f(in.s[2]), in.ieee))}; }};
  t["v_med3_f16"] = {"f16 f16 f16 f16", [](const Lane& in) { return Result{narrow16(median(widen16(in.s[0]), widen16(in.s[1]), widen16(in.s[2]), in.ieee))}; }};

  // Rounding to integers and taking apart.
  const auto one = [&](const char* name, auto fn) {
    const std::string n = name;
    t[n + "_f32"] = {"f32 f32", [=](const Lane& in) { return arith32(static_cast<float>(fn(f(in.s[0]))), {in.s[0]}); }};
    t[n + "_f64"] = {"f64 f64", [=](const Lane& in) { return arith64(fn(d(in.s[0])), {in.s[0]}); }};
    t[n + "_f16"] = {"f16 f16", [=](const Lane& in) { return arith16(fn(h(in.s[0])), {in.s[0]}); }};
  };
  one("v_floor", [](double a) { return std::floor(a); });
  one("v_ceil", [](double a) { return std::ceil(a); });
  one("v_trunc", [](double a) { return std::trunc(a); });
  one("v_rndne", [](double a) { return round_even(a); });
  one("v_frexp_mant", [](double a) { int exponent = 0; return std::isfinite(a) ? std::frexp(a, &exponent) : a; });
  t["v_fract_f32"] = {"f32 f32", [](const Lane& in) { return arith32(std::min(f(in.s[0]) - std::floor(f(in.s[0])), std::nextafter(1.0f, 0.0f)), {in.s[0]}); }};
  t["v_fract_f64"] = {"f64 f64", [](const Lane& in) { return arith64(std::min(d(in.s[0]) - std::floor(d(in.s[0])), std::nextafter(1.0, 0.0)), {in.s[0]}); }};
  t["v_fract_f16"] = {"f16 f16", [](const Lane& in) { return arith16(std::min(h(in.s[0]) - std::floor(h(in.s[0])), 1 - 0x1p-11), {in.s[0]}); }};
  const auto exponent_of = [](double a) { int exponent = 0; if (std::isfinite(a)) std::frexp(a, &exponent); return exponent; };
  t["v_frexp_exp_i32_f32"] = {"i32 f32", [=](const Lane& in) { return Result{u32(static_cast<uint64_t>(exponent_of(f(in.s[0]))))}; }};
  t["v_frexp_exp_i32_f64"] = {"i32 f64", [=](const Lane& in) { return Result{u32(static_cast<uint64_t>(exponent_of(d(in.s[0]))))}; }};
  t["v_frexp_exp_i16_f16"] = {"i16 f16", [=](const Lane& in) { return Result{u16(static_cast<uint64_t>(exponent_of(h(in.s[0]))))}; }};
  const auto scale = [](double a, int64_t exponent) { return std::ldexp(a, static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000))); };
  t["v_ldexp_f32"] = {"f32 f32 i32", [](const Lane& in) { return arith32(std::ldexp(f(in.s[0]), static_cast<int>(std::clamp<int64_t>(i32(in.s[1]), -500, 500))), {in.s[0]}); }};
  t["v_ldexp_f64"] = {"f64 f64 i32", [=](const Lane& in) { return arith64(scale(d(in.s[0]), i32(in.s[1])), {in.s[0]}); }};
  t["v_ldexp_f16"] = {"f16 f16 i16", [=](const Lane& in) { return arith16(std::ldexp(h(in.s[0]), static_cast<int>(std::clamp<int64_t>(i16(in.s[1]), -900, 900))), {in.s[0]}); }};
  t["v_pack_b32_f16"] = {"b32 b16 b16", [](const Lane& in) { return Result{in.s[0] | in.s[1] << 16}; }};

  // Cube maps.
  const auto cube = [&](const char* name, auto z_major, auto y_major, auto x_major) {
    t[name] = {"f32 f32 f32 f32", [=](const Lane& in) {
                 const float x = f(in.s[0]), y = f(in.s[1]), z = f(in.s[2]);
                 const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
                 if (az >= ax && az >= ay) return Result{raw(static_cast<float>(z_major(x, y, z)))};
                 if (ay >= ax) return Result{raw(static_cast<float>(y_major(x, y, z)))};
                 return Result{raw(static_cast<float>(x_major(x, y, z)))};
               }};
  };
  cube("v_cubeid_f32", [](float, float, float z) { return z < 0 ? 5.0f : 4.0f; }, [](float, float y, float) { return y < 0 ? 3.0f : 2.0f; }, [](float x, float, float) { return x < 0 ? 1.0f : 0.0f; });
  cube("v_cubesc_f32", [](float x, float, float z) { return z < 0 ? -x : x; }, [](float x, float, float) { return x; }, [](float x, float, float z) { return x < 0 ? z : -z; });
  cube("v_cubetc_f32", [](float, float y, float) { return -y; }, [](float, float y, float z) { return y < 0 ? -z : z; }, [](float, float y, float) { return -y; });
  cube("v_cubema_f32", [](float, float, float z) { return z * 2; }, [](float, float y, float) { return y * 2; }, [](float x, float, float) { return x * 2; });
  t["v_mullit_f32"] = {"f32 f32 f32 f32", [=](const Lane& in) {
    const float a = f(in.s[0]), b = f(in.s[1]), c = f(in.s[2]), lowest = -std::numeric_limits<float>::max();
    if (b == lowest || b == -INFINITY || std::isnan(b) || c <= 0 || std::isnan(c)) return Result{raw(lowest)};
    return arith32(legacy(a, b), {in.s[0], in.s[1]});
  }};

  // Transcendentals: within one unit of the last place.
  const auto trans = [&](const char* name, auto fn) {
    const std::string n = name;
    t[n + "_f32"] = {"f32 f32", [=](const Lane& in) { return arith32(flush(static_cast<float>(fn(static_cast<double>(flush(f(in.s[0])))))), {in.s[0]}); }, {}, 1};
    t[n + "_f16"] = {"f16 f16", [=](const Lane& in) { return arith16(fn(h(in.s[0])), {in.s[0]}); }, {}, 1};
  };
  constexpr double kPi = 3.14159265358979323846;
  trans("v_rcp", [](double a) { return 1 / a; });
  trans("v_rsq", [](double a) { return 1 / std::sqrt(a); });
  trans("v_sqrt", [](double a) { return std::sqrt(a); });
  trans("v_exp", [](double a) { return std::pow(2.0, a); });
  trans("v_log", [](double a) { return std::log(a) / std::log(2.0); });
  const auto reduced = [](double a) { return std::fmod(a, 1.0); };
  trans("v_sin", [=](double a) { return std::isinf(a) ? NAN : std::fabs(a) > 256 ? 0.0 : reduced(a) == 0.5 || reduced(a) == -0.5 || reduced(a) == 0 ? 0 * a : std::sin(reduced(a) * 2 * kPi); });
  trans("v_cos", [=](double a) { return std::isinf(a) ? NAN : std::fabs(a) > 256 ? 1.0 : std::cos(reduced(a) * 2 * kPi); });
  t["v_rcp_iflag_f32"] = t["v_rcp_f32"];
  t["v_exp_legacy_f32"] = t["v_exp_f32"];
  t["v_log_legacy_f32"] = t["v_log_f32"];
  t["v_rcp_f64"] = {"f64 f64", [](const Lane& in) { return arith64(1 / d(in.s[0]), {in.s[0]}); }, {}, 1};
  t["v_rsq_f64"] = {"f64 f64", [](const Lane& in) { return arith64(1 / std::sqrt(d(in.s[0])), {in.s[0]}); }, {}, 1};
  t["v_sqrt_f64"] = {"f64 f64", [](const Lane& in) { return arith64(std::sqrt(d(in.s[0])), {in.s[0]}); }, {}, 1};
}

void add_conversions(Table& t) {
  const auto quiet32 = [](uint64_t bits) { return nan32(bits) ? bits | 0x400000 : bits; };
  const auto to = [&](const char* name, const char* types, auto value, i128 lowest, i128 highest, int bits) {
    t[name] = {types, [=](const Lane& in) { return Result{low(to_int(value(in), lowest, highest), bits)}; }};
  };
  const auto src32 = [](const Lane& in) { return static_cast<double>(f(in.s[0])); };
  const auto src64 = [](const Lane& in) { return d(in.s[0]); };
  const auto src16 = [](const Lane& in) { return h(in.s[0]); };
  to("v_cvt_i32_f32", "i32 f32", src32, kMinI32, kMaxI32, 32);
  to("v_cvt_u32_f32", "u32 f32", src32, 0, kMaxU32, 32);
  to("v_cvt_i32_f64", "i32 f64", src64, kMinI32, kMaxI32, 32);
  to("v_cvt_u32_f64", "u32 f64", src64, 0, kMaxU32, 32);
  to("v_cvt_i16_f16", "i16 f16", src16, -32768, 32767, 16);
  to("v_cvt_u16_f16", "u16 f16", src16, 0, 65535, 16);
  to("v_cvt_flr_i32_f32", "i32 f32", [](const Lane& in) { return std::floor(static_cast<double>(f(in.s[0]))); }, kMinI32, kMaxI32, 32);
  to("v_cvt_rpi_i32_f32", "i32 f32", [](const Lane& in) { return std::floor(static_cast<double>(f(in.s[0])) + 0.5); }, kMinI32, kMaxI32, 32);
  t["v_cvt_f32_i32"] = {"f32 i32", [](const Lane& in) { return Result{raw(static_cast<float>(i32(in.s[0])))}; }};
  t["v_cvt_f32_u32"] = {"f32 u32", [](const Lane& in) { return Result{raw(static_cast<float>(in.s[0]))}; }};
  t["v_cvt_f64_i32"] = {"f64 i32", [](const Lane& in) { return Result{raw(static_cast<double>(i32(in.s[0])))}; }};
  t["v_cvt_f64_u32"] = {"f64 u32", [](const Lane& in) { return Result{raw(static_cast<double>(in.s[0]))}; }};
  t["v_cvt_f32_f64"] = {"f32 f64", [](const Lane& in) {
    if (nan64(in.s[0])) return Result{(in.s[0] >> 32 & 0x80000000) | 0x7fc00000 | (in.s[0] >> 29 & 0x3fffff)};
    return Result{raw(static_cast<float>(d(in.s[0])))};
  }};
  t["v_cvt_f64_f32"] = {"f64 f32", [](const Lane& in) {
    if (nan32(in.s[0])) return Result{(in.s[0] & 0x80000000) << 32 | 0x7ff8000000000000 | (in.s[0] & 0x3fffff) << 29};
    return Result{raw(static_cast<double>(f(in.s[0])))};
  }};
  t["v_cvt_f16_f32"] = {"f16 f32", [=](const Lane& in) {
    if (nan32(in.s[0])) return Result{narrow16(f(quiet32(in.s[0])))};
    return arith16(f(in.s[0]), {}, in.fp16_overflow);
  }};
  t["v_cvt_f32_f16"] = {"f32 f16", [](const Lane& in) { return Result{raw(widen16(nan16(in.s[0]) ? in.s[0] | 0x200 : in.s[0]))}; }};
  t["v_cvt_f16_i16"] = {"f16 i16", [](const Lane& in) { return arith16(static_cast<double>(i16(in.s[0])), {}); }};
  t["v_cvt_f16_u16"] = {"f16 u16", [](const Lane& in) { return arith16(static_cast<double>(in.s[0]), {}, in.fp16_overflow); }};
  t["v_cvt_i32_i16"] = {"i32 i16", [](const Lane& in) { return Result{u32(static_cast<uint64_t>(i16(in.s[0])))}; }};
  t["v_cvt_u32_u16"] = {"u32 u16", [](const Lane& in) { return Result{in.s[0]}; }};
  for (int byte = 0; byte < 4; ++byte)
    t["v_cvt_f32_ubyte" + std::to_string(byte)] = {"f32 b32", [=](const Lane& in) { return Result{raw(static_cast<float>(in.s[0] >> 8 * byte & 0xff))}; }};
  t["v_cvt_off_f32_i4"] = {"f32 b32", [](const Lane& in) {
    static constexpr float kTable[] = {0.0f, 0.0625f, 0.1250f, 0.1875f, 0.2500f, 0.3125f, 0.3750f, 0.4375f,
                                       -0.5000f, -0.4375f, -0.3750f, -0.3125f, -0.2500f, -0.1875f, -0.1250f, -0.0625f};
    return Result{raw(kTable[in.s[0] & 15])};
  }};
  t["v_cvt_norm_i16_f16"] = {"b16 f16", [](const Lane& in) { return Result{snorm(h(in.s[0]))}; }};
  t["v_cvt_norm_u16_f16"] = {"b16 f16", [](const Lane& in) { return Result{unorm(h(in.s[0]))}; }};
  t["v_cvt_pknorm_i16_f32"] = {"b32 f32 f32", [](const Lane& in) { return Result{snorm(f(in.s[0])) | snorm(f(in.s[1])) << 16}; }};
  t["v_cvt_pknorm_u16_f32"] = {"b32 f32 f32", [](const Lane& in) { return Result{unorm(f(in.s[0])) | unorm(f(in.s[1])) << 16}; }};
  t["v_cvt_pknorm_i16_f16"] = {"b32 f16 f16", [](const Lane& in) { return Result{snorm(h(in.s[0])) | snorm(h(in.s[1])) << 16}; }};
  t["v_cvt_pknorm_u16_f16"] = {"b32 f16 f16", [](const Lane& in) { return Result{unorm(h(in.s[0])) | unorm(h(in.s[1])) << 16}; }};
  t["v_cvt_pkrtz_f16_f32"] = {"b32 f32 f32", [](const Lane& in) {
    const auto half = [](uint64_t bits) { return nan32(bits) ? narrow16(f(bits | 0x400000)) : uint64_t{reference_to_f16(f(bits), 3)}; };
    return Result{half(in.s[0]) | half(in.s[1]) << 16};
  }};
  t["v_cvt_pk_i16_i32"] = {"b32 i32 i32", [](const Lane& in) {
    return Result{u16(static_cast<uint64_t>(limit(i32(in.s[0]), -32768, 32767))) | u16(static_cast<uint64_t>(limit(i32(in.s[1]), -32768, 32767))) << 16};
  }};
  t["v_cvt_pk_u16_u32"] = {"b32 u32 u32", [](const Lane& in) { return Result{std::min<uint64_t>(in.s[0], 65535) | std::min<uint64_t>(in.s[1], 65535) << 16}; }};
  t["v_cvt_pk_i16_f32"] = {"b32 f32 f32", [](const Lane& in) { return Result{u16(to_int(f(in.s[0]), -32768, 32767)) | u16(to_int(f(in.s[1]), -32768, 32767)) << 16}; }};
  t["v_cvt_pk_u16_f32"] = {"b32 f32 f32", [](const Lane& in) { return Result{u16(to_int(f(in.s[0]), 0, 65535)) | u16(to_int(f(in.s[1]), 0, 65535)) << 16}; }};
  const auto byte_into = [](const Lane& in, uint64_t old) {
    uint64_t bytes[4];
    for (int i = 0; i < 4; ++i) bytes[i] = old >> 8 * i & 0xff;
    bytes[in.s[1] % 4] = to_int(f(in.s[0]), 0, 255);
    return Result{bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24};
  };
  t["v_cvt_pk_u8_f32"] = {"b32 f32 b32 b32", [=](const Lane& in) { return byte_into(in, in.s[2]); }};
  t["v_cvt_pkaccum_u8_f32"] = {"b32 f32 b32 old", [=](const Lane& in) { return byte_into(in, in.old); }};
  // e4m3: 3 bits, bias 8; e5m2: 2 bits, bias 16.
  t["v_cvt_f32_fp8"] = {"f32 b8", [](const Lane& in) { return Result{from_fp8(in.s[0] & 0xff, 3, 8)}; }};
  t["v_cvt_f32_bf8"] = {"f32 b8", [](const Lane& in) { return Result{from_fp8(in.s[0] & 0xff, 2, 16)}; }};
  t["v_cvt_pk_f32_fp8"] = {"b64 b16", [](const Lane& in) { return Result{from_fp8(in.s[0] & 0xff, 3, 8) | from_fp8(in.s[0] >> 8 & 0xff, 3, 8) << 32}; }};
  t["v_cvt_pk_f32_bf8"] = {"b64 b16", [](const Lane& in) { return Result{from_fp8(in.s[0] & 0xff, 2, 16) | from_fp8(in.s[0] >> 8 & 0xff, 2, 16) << 32}; }};
  t["v_cvt_pk_fp8_f32"] = {"b16 f32 f32", [](const Lane& in) { return Result{to_fp8(f(in.s[0]), 3, 8, in.fp16_overflow) | to_fp8(f(in.s[1]), 3, 8, in.fp16_overflow) << 8}; }};
  t["v_cvt_pk_bf8_f32"] = {"b16 f32 f32", [](const Lane& in) { return Result{to_fp8(f(in.s[0]), 2, 16, in.fp16_overflow) | to_fp8(f(in.s[1]), 2, 16, in.fp16_overflow) << 8}; }};
  t["v_cvt_sr_fp8_f32"] = {"b8 f32 b32", [](const Lane& in) { return Result{to_fp8_stochastic(f(in.s[0]), in.s[1], 3, 8, in.fp16_overflow)}; }};
  t["v_cvt_sr_bf8_f32"] = {"b8 f32 b32", [](const Lane& in) { return Result{to_fp8_stochastic(f(in.s[0]), in.s[1], 2, 16, in.fp16_overflow)}; }};
}

void add_packed(Table& t) {
  const auto halves = [](uint64_t low_bits, uint64_t high_bits) { return u16(low_bits) | u16(high_bits) << 16; };
  const auto ints = [&](const char* name, int sources, bool is_signed, bool clamps, auto fn) {
    const auto run = [=](const Lane& in, bool saturate) {
      uint64_t part[2];
      for (int half = 0; half < 2; ++half) {
        const auto value = [&](int k) { const uint64_t bits = in.s[k] >> 16 * half; return is_signed ? i16(bits) : static_cast<int64_t>(u16(bits)); };
        i128 exact = fn(value(0), value(1), sources == 3 ? value(2) : 0);
        if (saturate) exact = limit(exact, is_signed ? -32768 : 0, is_signed ? 32767 : 65535);
        part[half] = u16(static_cast<uint64_t>(exact));
      }
      return Result{halves(part[0], part[1])};
    };
    ReferenceOp op{sources == 3 ? "pk16 pk16 pk16 pk16" : "pk16 pk16 pk16", [=](const Lane& in) { return run(in, false); }};
    if (clamps) op.saturating = [=](const Lane& in) { return run(in, true); };
    t[name] = op;
  };
  ints("v_pk_add_u16", 2, false, true, [](i128 a, i128 b, i128) { return a + b; });
  ints("v_pk_add_i16", 2, true, true, [](i128 a, i128 b, i128) { return a + b; });
  ints("v_pk_sub_u16", 2, false, true, [](i128 a, i128 b, i128) { return a - b; });
  ints("v_pk_sub_i16", 2, true, true, [](i128 a, i128 b, i128) { return a - b; });
  ints("v_pk_mul_lo_u16", 2, false, false, [](i128 a, i128 b, i128) { return a * b; });
  ints("v_pk_mad_u16", 3, false, true, [](i128 a, i128 b, i128 c) { return a * b + c; });
  ints("v_pk_mad_i16", 3, true, true, [](i128 a, i128 b, i128 c) { return a * b + c; });
  for (const bool is_signed : {false, true}) {
    const std::string suffix = is_signed ? "i16" : "u16";
    ints(("v_pk_min_" + suffix).c_str(), 2, is_signed, false, [](i128 a, i128 b, i128) { return std::min(a, b); });
    ints(("v_pk_max_" + suffix).c_str(), 2, is_signed, false, [](i128 a, i128 b, i128) { return std::max(a, b); });
  }
  ints("v_pk_lshlrev_b16", 2, false, false, [](i128 a, i128 b, i128) { return b << static_cast<int>(a % 16); });
  ints("v_pk_lshrrev_b16", 2, false, false, [](i128 a, i128 b, i128) { return b >> static_cast<int>(a % 16); });
  ints("v_pk_ashrrev_i16", 2, true, false, [](i128 a, i128 b, i128) { return b >> static_cast<int>(static_cast<uint64_t>(a) % 16); });

  // Two f16 results from the scalar operation of the same name.
  const auto pair = [&](const char* name, const char* scalar, const char* types, bool reads_old) {
    const auto run = t.at(scalar).run;
    t[name] = {types, [=](const Lane& in) {
                 Lane lower = in, upper = in;
                 for (int k = 0; k < 3; ++k) lower.s[k] = u16(in.s[k]), upper.s[k] = u16(in.s[k] >> 16);
                 if (reads_old) lower.s[2] = u16(in.old), upper.s[2] = u16(in.old >> 16);
                 return Result{halves(run(lower).value, run(upper).value)};
               }};
  };
  pair("v_pk_add_f16", "v_add_f16", "pkf16 pkf16 pkf16", false);
  pair("v_pk_mul_f16", "v_mul_f16", "pkf16 pkf16 pkf16", false);
  pair("v_pk_min_f16", "v_min_f16", "pkf16 pkf16 pkf16", false);
  pair("v_pk_max_f16", "v_max_f16", "pkf16 pkf16 pkf16", false);
  pair("v_pk_fma_f16", "v_fma_f16", "pkf16 pkf16 pkf16 pkf16", false);
  pair("v_pk_fmac_f16", "v_fma_f16", "pkf16 pkf16 pkf16 old", true);
  const auto pair32 = [&](const char* name, const char* scalar, const char* types) {
    const auto run = t.at(scalar).run;
    t[name] = {types, [=](const Lane& in) {
                 Lane lower = in, upper = in;
                 for (int k = 0; k < 3; ++k) lower.s[k] = u32(in.s[k]), upper.s[k] = in.s[k] >> 32;
                 return Result{run(lower).value | run(upper).value << 32};
               }};
  };
  pair32("v_pk_add_f32", "v_add_f32", "pkf32 pkf32 pkf32");
  pair32("v_pk_mul_f32", "v_mul_f32", "pkf32 pkf32 pkf32");
  pair32("v_pk_fma_f32", "v_fma_f32", "pkf32 pkf32 pkf32 pkf32");
  t["v_pk_mov_b32"] = {"b64 pkb32 pkb32", [](const Lane& in) { return Result{u32(in.s[0]) | in.s[1] << 32}; }};

  for (const char* kind : {"fma", "mad"}) {
    const std::string k = kind;
    const auto run = t.at("v_" + k + "_f32").run;
    t["v_" + k + "_mix_f32"] = {"f32 mix mix mix", run};
    for (const char* half : {"lo", "hi"})
      t["v_" + k + "_mix" + half + "_f16"] = {"f16 mix mix mix", [=](const Lane& in) {
        const uint64_t single = run(in).value;
        return nan32(single) ? Result{0x7e00} : Result{reference_to_f16(f(single))};
      }};
  }

  const auto two_products = [](const Lane& in, uint64_t c, auto value) {
    const double first = static_cast<float>(odd_sum(value(u16(in.s[0])) * value(u16(in.s[1])), f(c)));
    return arith32(static_cast<float>(odd_sum(value(in.s[0] >> 16) * value(in.s[1] >> 16), first)), {c});
  };
  const auto half_value = [](uint64_t bits) { return h(bits); };
  const auto bf16_value = [](uint64_t bits) { return static_cast<double>(f(bits << 16)); };
  t["v_dot2_f32_f16"] = {"f32 pkf16 pkf16 f32", [=](const Lane& in) { return two_products(in, in.s[2], half_value); }};
  t["v_dot2c_f32_f16"] = {"f32 pkf16 pkf16 old", [=](const Lane& in) { return two_products(in, in.old, half_value); }};
  t["v_dot2_f32_bf16"] = {"f32 pk16 pk16 f32", [=](const Lane& in) { return two_products(in, in.s[2], bf16_value); }};
  t["v_dot2_f16_f16"] = {"f16 pkf16 pkf16 f16", [](const Lane& in) {
    const Result first = arith16(odd_sum(h(u16(in.s[0])) * h(u16(in.s[1])), h(in.s[2])), {});
    return arith16(odd_sum(h(in.s[0] >> 16) * h(in.s[1] >> 16), h(first.value)), {in.s[2]});
  }};
  t["v_dot2_bf16_bf16"] = {"b16 pk16 pk16 b16", [=](const Lane& in) {
    const auto round = [](double exact) -> uint64_t {
      const uint64_t bits = raw(static_cast<float>(exact));
      if (nan32(bits)) return 0x7fc0;
      const uint64_t rest = bits & 0xffff, kept = bits >> 16;
      return kept + (rest > 0x8000 || (rest == 0x8000 && kept % 2 != 0) ? 1 : 0);
    };
    const uint64_t first = round(odd_sum(bf16_value(u16(in.s[0])) * bf16_value(u16(in.s[1])), bf16_value(in.s[2])));
    return Result{round(odd_sum(bf16_value(in.s[0] >> 16) * bf16_value(in.s[1] >> 16), bf16_value(first)))};
  }};
  const auto dot = [&](const char* name, const char* types, int count, bool is_signed, bool reads_old) {
    const auto run = [=](const Lane& in, bool saturate) { return Result{field_sum(in, count, is_signed, is_signed, is_signed, saturate, reads_old ? in.old : in.s[2])}; };
    t[name] = {types, [=](const Lane& in) { return run(in, false); }, [=](const Lane& in) { return run(in, true); }};
  };
  dot("v_dot2_i32_i16", "i32 pk16 pk16 i32", 2, true, false);
  dot("v_dot2_u32_u16", "u32 pk16 pk16 u32", 2, false, false);
  dot("v_dot2c_i32_i16", "i32 pk16 pk16 old", 2, true, true);
  dot("v_dot4_i32_i8", "i32 b32 b32 i32", 4, true, false);
  dot("v_dot4_u32_u8", "u32 b32 b32 u32", 4, false, false);
  dot("v_dot4c_i32_i8", "i32 b32 b32 old", 4, true, true);
  dot("v_dot8_i32_i4", "i32 b32 b32 i32", 8, true, false);
  dot("v_dot8_u32_u4", "u32 b32 b32 u32", 8, false, false);
  dot("v_dot8c_i32_i4", "i32 b32 b32 old", 8, true, true);
  // Without neg both sources are unsigned, the sum signed.
  for (const int count : {4, 8})
    t[count == 4 ? "v_dot4_i32_iu8" : "v_dot8_i32_iu4"] = {
        "i32 b32 b32 i32", [=](const Lane& in) { return Result{field_sum(in, count, false, false, true, false, in.s[2])}; },
        [=](const Lane& in) { return Result{field_sum(in, count, false, false, true, true, in.s[2])}; }};
}

// Division steps, from the pseudo-code; see exec/vop_div.cc for where it is not taken literally.
void add_division(Table& t) {
  const auto exponent32 = [](uint64_t bits) { return static_cast<int>(bits >> 23 & 0xff); };
  const auto exponent64 = [](uint64_t bits) { return static_cast<int>(bits >> 52 & 0x7ff); };
  t["v_div_scale_f32"] = {"f32 f32 f32 f32 +bit", [=](const Lane& in) {
    const double value = f(in.s[0]), den = f(in.s[1]), num = f(in.s[2]);
    const auto scaled = [&](int by) { return raw(static_cast<float>(std::ldexp(value, by))); };
    const bool is_den = value == den, is_num = value == num;
    const bool tiny_reciprocal = std::fabs(1 / den) < 0x1p-126;
    const bool tiny_quotient = std::fabs(static_cast<double>(static_cast<float>(num / den))) < 0x1p-126;
    if (num == 0 || den == 0) return Result{0x7fc00000, false};
    if (exponent32(in.s[2]) - exponent32(in.s[1]) >= 96) return Result{is_den ? scaled(64) : in.s[0], true};
    if (exponent32(in.s[1]) == 0) return Result{scaled(64), false};
    if (tiny_reciprocal && tiny_quotient) return Result{is_den ? scaled(-64) : in.s[0], true};
    if (tiny_reciprocal) return Result{scaled(-64), false};
    if (tiny_quotient) return Result{is_num ? scaled(64) : in.s[0], true};
    if (exponent32(in.s[2]) <= 23) return Result{scaled(64), false};
    return Result{in.s[0], false};
  }};
  t["v_div_scale_f64"] = {"f64 f64 f64 f64 +bit", [=](const Lane& in) {
    const double value = d(in.s[0]), den = d(in.s[1]), num = d(in.s[2]);
    const auto scaled = [&](int by) { return raw(std::ldexp(value, by)); };
    const bool is_den = value == den, is_num = value == num;
    const bool tiny_reciprocal = std::fabs(1 / den) < 0x1p-1022;
    const bool tiny_quotient = std::fabs(num / den) < 0x1p-1022;
    if (num == 0 || den == 0) return Result{0x7ff8000000000000, false};
    if (exponent64(in.s[2]) - exponent64(in.s[1]) >= 768) return Result{is_den ? scaled(128) : in.s[0], true};
    if (exponent64(in.s[1]) == 0) return Result{scaled(128), false};
    if (tiny_reciprocal && tiny_quotient) return Result{is_den ? scaled(-128) : in.s[0], true};
    if (tiny_reciprocal) return Result{scaled(-128), false};
    if (tiny_quotient) return Result{is_num ? scaled(128) : in.s[0], true};
    if (exponent64(in.s[2]) <= 53) return Result{scaled(128), false};
    return Result{in.s[0], false};
  }};
  t["v_div_fmas_f32"] = {"f32 f32 f32 f32 mask", [=](const Lane& in) {
    const double sum = odd_sum(static_cast<double>(f(in.s[0])) * f(in.s[1]), f(in.s[2]));
    const int by = !in.mask ? 0 : exponent32(in.s[2]) > 127 ? 64 : -64;
    return arith32(static_cast<float>(std::ldexp(sum, by)), {in.s[0], in.s[1], in.s[2]});
  }};
  t["v_div_fmas_f64"] = {"f64 f64 f64 f64 mask", [=](const Lane& in) {
    const double sum = std::fma(d(in.s[0]), d(in.s[1]), d(in.s[2]));
    const int by = !in.mask ? 0 : exponent64(in.s[2]) > 1023 ? 128 : -128;
    return arith64(std::ldexp(sum, by), {in.s[0], in.s[1], in.s[2]});
  }, {}, 1};
  const auto fixup = [&](const char* name, const char* types, int bits, int mantissa, int underflow) {
    const uint64_t sign_bit = uint64_t{1} << (bits - 1);
    const uint64_t infinity = (sign_bit - 1) & ~((uint64_t{1} << mantissa) - 1);
    const uint64_t quiet = uint64_t{1} << (mantissa - 1);
    t[name] = {types, [=](const Lane& in) {
      const uint64_t q = in.s[0] & ~sign_bit, den = in.s[1] & ~sign_bit, num = in.s[2] & ~sign_bit;
      const uint64_t sign = (in.s[1] ^ in.s[2]) & sign_bit;
      const int distance = static_cast<int>(num >> mantissa) - static_cast<int>(den >> mantissa);
      if (num > infinity) return Result{in.s[2] | quiet};
      if (den > infinity) return Result{in.s[1] | quiet};
      if (den == num && (den == 0 || den == infinity)) return Result{sign_bit | infinity | quiet};
      if (den == 0 || num == infinity) return Result{sign | infinity};
      if (den == infinity || num == 0) return Result{sign};
      if (distance < underflow) return Result{sign};
      if (bits != 16 && q > infinity) return Result{sign | infinity};
      return Result{sign | q};
    }};
  };
  fixup("v_div_fixup_f32", "f32 f32 f32 f32", 32, 23, -150);
  fixup("v_div_fixup_f64", "f64 f64 f64 f64", 64, 52, -1075);
  fixup("v_div_fixup_f16", "f16 f16 f16 f16", 16, 10, -1000);
  fixup("v_div_fixup_legacy_f16", "f16 f16 f16 f16", 16, 10, -1000);
}

// Bit by bit from the binary expansion of 2/pi, which long division by pi's digits gives.
void add_trig_preop(Table& t) {
  // 2/pi in hexadecimal; the expansion of Payne and Hanek's method.
  static const std::string kHex =
      "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
      "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
      "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b";
  t["v_trig_preop_f64"] = {"f64 f64 u32", [](const Lane& in) {
    const int exponent = static_cast<int>(in.s[0] >> 52 & 0x7ff);
    int shift = static_cast<int>(in.s[1] & 31) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    double value = 0;
    for (int i = 0; i < 53; ++i) {
      const int at = shift + i;
      const auto digit = [&](size_t index) { return index >= kHex.size() ? 0 : kHex[index] <= '9' ? kHex[index] - '0' : kHex[index] - 'a' + 10; };
      const int bit = at >= 1201 ? 0 : digit(static_cast<size_t>(at / 4)) >> (3 - at % 4) & 1;
      value = value * 2 + bit;
    }
    return Result{raw(std::ldexp(value, -53 - shift + (exponent >= 1968 ? 128 : 0)))};
  }};
}

template <class Compare>
void add_compare(Table& t, const std::string& condition, const std::string& type, Compare compare) {
  for (const char* prefix : {"v_cmp_", "v_cmpx_"})
    t[prefix + condition + "_" + type] = {"bit " + type + " " + type, [=](const Lane& in) { return Result{0, compare(in.s[0], in.s[1])}; }};
}

void add_compares(Table& t) {
  // -1 less, 0 equal, 1 greater, 2 unordered; a condition is the set of outcomes for which it
  // holds.
  const std::map<std::string, std::function<int(uint64_t, uint64_t)>> outcomes = {
      {"f16", [](uint64_t a, uint64_t b) { return nan16(a) || nan16(b) ? 2 : (h(a) > h(b)) - (h(a) < h(b)); }},
      {"f32", [](uint64_t a, uint64_t b) { return nan32(a) || nan32(b) ? 2 : (f(a) > f(b)) - (f(a) < f(b)); }},
      {"f64", [](uint64_t a, uint64_t b) { return nan64(a) || nan64(b) ? 2 : (d(a) > d(b)) - (d(a) < d(b)); }},
      {"u16", [](uint64_t a, uint64_t b) { return (a > b) - (a < b); }},
      {"u32", [](uint64_t a, uint64_t b) { return (a > b) - (a < b); }},
      {"u64", [](uint64_t a, uint64_t b) { return (a > b) - (a < b); }},
      {"i16", [](uint64_t a, uint64_t b) { return (i16(a) > i16(b)) - (i16(a) < i16(b)); }},
      {"i32", [](uint64_t a, uint64_t b) { return (i32(a) > i32(b)) - (i32(a) < i32(b)); }},
      {"i64", [](uint64_t a, uint64_t b) { return (static_cast<int64_t>(a) > static_cast<int64_t>(b)) - (static_cast<int64_t>(a) < static_cast<int64_t>(b)); }},
  };
  const std::map<std::string, std::vector<int>> ints = {
      {"f", {}}, {"lt", {-1}}, {"eq", {0}}, {"le", {-1, 0}}, {"gt", {1}}, {"ne", {-1, 1}}, {"ge", {0, 1}}, {"t", {-1, 0, 1}}};
  const std::map<std::string, std::vector<int>> floats = {
      {"f", {}}, {"lt", {-1}}, {"eq", {0}}, {"le", {-1, 0}}, {"gt", {1}}, {"lg", {-1, 1}}, {"ge", {0, 1}}, {"o", {-1, 0, 1}},
      {"u", {2}}, {"nge", {-1, 2}}, {"nlg", {0, 2}}, {"ngt", {-1, 0, 2}}, {"nle", {1, 2}}, {"neq", {-1, 1, 2}}, {"nlt", {0, 1, 2}}, {"tru", {-1, 0, 1, 2}}};
  for (const auto& [type, outcome] : outcomes)
    for (const auto& [condition, holds] : type[0] == 'f' ? floats : ints)
      add_compare(t, condition, type, [result_of = outcome, wanted = holds](uint64_t a, uint64_t b) {
        return std::find(wanted.begin(), wanted.end(), result_of(a, b)) != wanted.end();
      });
  const auto classify = [](double value, bool negative, bool is_nan, bool is_quiet, double smallest_normal) {
    if (is_nan) return is_quiet ? 1 : 0;
    if (std::isinf(value)) return negative ? 2 : 9;
    if (value == 0) return negative ? 5 : 6;
    if (std::fabs(value) < smallest_normal) return negative ? 4 : 7;
    return negative ? 3 : 8;
  };
  const std::map<std::string, std::function<int(uint64_t)>> classes = {
      {"f16", [=](uint64_t a) { return classify(h(a), (a & 0x8000) != 0, nan16(a), (a & 0x200) != 0, 0x1p-14); }},
      {"f32", [=](uint64_t a) { return classify(f(a), (a & 0x80000000) != 0, nan32(a), (a & 0x400000) != 0, 0x1p-126); }},
      {"f64", [=](uint64_t a) { return classify(d(a), a >> 63 != 0, nan64(a), (a & 0x8000000000000) != 0, 0x1p-1022); }}};
  for (const auto& [type, class_of] : classes)
    for (const char* prefix : {"v_cmp_class_", "v_cmpx_class_"})
      t[prefix + type] = {"bit b" + type.substr(1) + " b32", [find_class = class_of](const Lane& in) { return Result{0, (in.s[1] >> find_class(in.s[0]) & 1) != 0}; }};
}
// clang-format on

}  // namespace

double reference_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 31) magnitude = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0) magnitude = std::ldexp(mantissa, -24);
  else magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t reference_to_f16(double value, int round) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | 0x7c00;
  // The largest half that is not above: halves are ordered like their codes.
  int below = 0, above = 0x7c00;  // 0x7c00 stands for 65536 here
  const auto at = [](int code) {
    return code == 0x7c00 ? 65536.0 : reference_f16(static_cast<uint16_t>(code));
  };
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (at(middle) <= magnitude ? below : above) = middle;
  }
  if (magnitude >= 65536) below = 0x7bff;
  if (at(below) == magnitude) return static_cast<uint16_t>(below | sign);
  const double to_below = magnitude - at(below), to_above = at(above) - magnitude;
  bool up = false;
  if (round == 0) up = to_above < to_below || (to_above == to_below && below % 2 != 0);
  if (round == 1) up = sign == 0;
  if (round == 2) up = sign != 0;
  return static_cast<uint16_t>((up ? above : below) | sign);
}

const std::map<std::string, ReferenceOp>& vop_reference() {
  static const Table* const table = [] {
    auto* made = new Table;
    add_integers(*made);
    add_floats(*made);
    add_conversions(*made);
    add_packed(*made);
    add_division(*made);
    add_trig_preop(*made);
    add_compares(*made);
    return made;
  }();
  return *table;
}

TEST(VopReference, HalvesGoThroughTheirCode) {
  for (int code = 0; code < 0x7c00; ++code)
    EXPECT_EQ(reference_to_f16(reference_f16(static_cast<uint16_t>(code))), code);
  EXPECT_EQ(reference_to_f16(65519.99), 0x7bff);
  EXPECT_EQ(reference_to_f16(65520), 0x7c00);
  EXPECT_EQ(reference_to_f16(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(reference_to_f16(1 + 3 * 0x1p-11), 0x3c02);
}

}  // namespace wavetap::emu
