#include "proof/shadow_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

namespace wavetap::proof {
namespace {

using isa::Op;

// A half unit in the last place, relative; and what is lost where small numbers become zero.
constexpr double kUnit16 = 0x1p-11, kUnit32 = 0x1p-24, kUnit64 = 0x1p-53;
constexpr double kTiny16 = 0x1p-14, kTiny32 = 0x1p-126, kTiny64 = 0x1p-1022;
constexpr double kStep16 = 0x1p-25;  // of 16 bits, half a step of what has fewer digits
// What the hardware's own functions are off by, relative to the result or to 1.
constexpr double kFunction = 0x1p-22;
constexpr double kSeed64 = 0x1p-22;  // v_rcp_f64 and v_rsq_f64 are first guesses

constexpr RuleRow f16(Rule rule, uint8_t sources) { return {rule, 16, 16, sources}; }
constexpr RuleRow f32(Rule rule, uint8_t sources) { return {rule, 32, 32, sources}; }
constexpr RuleRow f64(Rule rule, uint8_t sources) { return {rule, 64, 64, sources}; }

double unit_of(uint8_t bits) { return bits == 64 ? kUnit64 : bits == 16 ? kUnit16 : kUnit32; }
double unit(const RuleRow& row) { return unit_of(row.result_bits) * (row.truncates ? 2 : 1); }
double tiny(const RuleRow& row) {
  if (row.result_bits == 64) return kTiny64;
  if (row.result_bits == 32) return kTiny32;
  return row.flushes ? kTiny16 : row.truncates ? 2 * kStep16 : kStep16;
}
// Of the type that a product has before it is added to.
double largest(const RuleRow& row) {
  const int bits = std::max(row.source_bits, row.result_bits);
  if (bits == 64) return std::numeric_limits<double>::max();
  return bits == 16 ? 65504 : static_cast<double>(std::numeric_limits<float>::max());
}
CellKind kind_of(uint8_t bits) {
  return bits == 64 ? CellKind::kF64 : bits == 16 ? CellKind::kF16 : CellKind::kF32;
}

struct Number {
  double value = 0, bound = 0;
};
Number number(const Sample& sample) { return {sample.cell.value, sample.cell.bound}; }

Number add(Number a, Number b, double sign) {
  return {a.value + sign * b.value, a.bound + b.bound};
}
Number multiply(Number a, Number b) {
  return {a.value * b.value,
          std::fabs(a.value) * b.bound + std::fabs(b.value) * a.bound + a.bound * b.bound};
}

Cell cell_of(const RuleRow& row, Number number, double actual, double lost) {
  // Infinities and what is no number are the original's decisions.
  if (!std::isfinite(actual) || !std::isfinite(number.value) || !std::isfinite(number.bound))
    return {};
  const double size = std::max(std::fabs(actual), std::fabs(number.value));
  return {number.value, number.bound + lost * size + tiny(row), kind_of(row.result_bits)};
}

// How much a bound grows through 1/x and 1/sqrt(x): nothing is known near zero.
double safe_size(Number a) {
  return std::max(std::fabs(a.value) - a.bound, std::fabs(a.value) / 2);
}

// What is lost by a function of the hardware: of 16 bits, a unit in the last place.
double own_error(const RuleRow& row) { return row.result_bits == 16 ? 2 * kUnit16 : kFunction; }

Cell function(const RuleRow& row, const Sample& sample, double actual) {
  const Number a = number(sample);
  const double seed = row.result_bits == 64 ? kSeed64 : own_error(row);
  switch (row.rule) {
    case Rule::kReciprocal: {
      const double size = safe_size(a);
      return cell_of(row, {1 / a.value, a.bound / (size * size)}, actual, seed);
    }
    case Rule::kReciprocalRoot: {
      const double size = safe_size(a);
      return cell_of(row, {1 / std::sqrt(a.value), a.bound / (2 * size * std::sqrt(size))}, actual,
                     seed);
    }
    case Rule::kRoot: {
      if (!(a.value > a.bound))
        return a.bound == 0 ? Cell{}
                            : cell_of(row, {std::sqrt(std::max(a.value, 0.0)), std::sqrt(a.bound)},
                                      actual, seed);
      return cell_of(row, {std::sqrt(a.value), a.bound / (2 * std::sqrt(safe_size(a)))}, actual,
                     seed);
    }
    case Rule::kExp2: {
      const double value = std::exp2(a.value);
      return cell_of(row, {value, value * std::expm1(a.bound * 0.7)}, actual, own_error(row));
    }
    case Rule::kLog2:
      return cell_of(row, {std::log2(a.value), 1.5 * a.bound / safe_size(a) + own_error(row)},
                     actual, own_error(row));
    case Rule::kSine:
    case Rule::kCosine: {
      // Whole revolutions do not matter, and fp64 has them exactly.
      const double angle = (a.value - std::floor(a.value)) * 2 * 3.14159265358979323846;
      return cell_of(row,
                     {row.rule == Rule::kSine ? std::sin(angle) : std::cos(angle),
                      6.3 * a.bound + 4 * own_error(row)},
                     actual, own_error(row));
    }
    default: return kUnknownCell;
  }
}

CellKind kind_of_lost(std::span<const Sample> sources) {
  CellKind kind = CellKind::kExact;
  for (const Sample& sample : sources)
    if (sample.is_lost() && kind != CellKind::kOverflow) kind = sample.cell.kind;
  return kind;
}

// Numbers that became infinite where fp64 has room for them; a division by zero is something else.
bool has_overflowed(const RuleRow& row, std::span<const Sample> sources, double actual) {
  const bool has_pole = row.rule == Rule::kReciprocal || row.rule == Rule::kReciprocalRoot ||
                        row.rule == Rule::kLog2 || row.rule == Rule::kDivide;
  return !has_pole && std::isinf(actual) &&
         std::all_of(sources.begin(), sources.end(),
                     [](const Sample& sample) { return std::isfinite(sample.actual); });
}

// The source that has the result's value: the same number in the original and in the reference.
Cell pick(std::span<const Sample> sources, double actual) {
  for (const Sample& sample : sources)
    if (sample.actual == actual) return sample.cell;
  return {0, 0, kind_of_lost(sources)};
}

double power_of_two(double quotient) {
  if (!std::isfinite(quotient) || quotient == 0) return 1;
  return std::exp2(std::round(std::log2(std::fabs(quotient))));
}

// The number of `width` bits, at most its sign changed, that became `bits`; null: none.
const Cell* same_number(const Cell& cell, uint32_t source, uint32_t bits, uint32_t sign) {
  if (cell.is_exact()) return nullptr;
  return ((source ^ bits) & (sign - 1)) == 0 ? &cell : nullptr;
}

Cell signed_as(Cell cell, uint32_t source, uint32_t bits) {
  if (source != bits) cell.value = -cell.value;
  return cell;
}

Cell whole_of(std::span<const RawSample> sources, uint32_t bits) {
  for (const RawSample& sample : sources) {
    const Cell cell = sample.cells.whole();
    if (cell.kind != CellKind::kF32 && !cell.is_lost()) continue;
    if (same_number(cell, sample.bits, bits, 0x80000000) != nullptr)
      return signed_as(cell, sample.bits, bits);
  }
  return {};
}

Cell half_of(std::span<const RawSample> sources, uint32_t bits) {
  for (const RawSample& sample : sources)
    for (const bool is_high : {false, true}) {
      const Cell cell = sample.cells.half(is_high);
      const uint32_t half = sample.bits >> (is_high ? 16 : 0) & 0xffff;
      if (same_number(cell, half, bits, 0x8000) != nullptr) return signed_as(cell, half, bits);
    }
  return {};
}

Cell step_of(std::span<const RawSample> sources, uint32_t bits) {
  for (const RawSample& sample : sources) {
    const Cell& cell = sample.cells.low;
    if (cell.kind != CellKind::kF32) continue;
    const auto steps = static_cast<int32_t>(bits - sample.bits);
    if (std::abs(steps) <= 1) return cell;
  }
  return {};
}

Cell products(const RuleRow& row, std::span<const Sample> s, double actual) {
  const double u = unit(row);
  const bool is_zero = s[0].actual == 0 || s[1].actual == 0;
  const bool is_legacy = row.rule == Rule::kMultiplyLegacy || row.rule == Rule::kFmaLegacy;
  const Number product = is_legacy && is_zero ? Number{} : multiply(number(s[0]), number(s[1]));
  if (row.rule == Rule::kMultiply || row.rule == Rule::kMultiplyLegacy)
    return cell_of(row, product, actual, u);
  // That the sum is finite is luck: without the fusing it would be infinite.
  if (std::isfinite(product.value) && std::fabs(product.value) > largest(row))
    return {0, 0, CellKind::kOverflow};
  Number sum = add(product, number(s[2]), 1);
  // In between, a mixed operation has f32.
  const double between = unit_of(std::max(row.source_bits, row.result_bits));
  if (row.rule == Rule::kMad) sum.bound += between * std::fabs(product.value);
  if (row.rule == Rule::kDivideFmas) {
    const double scale = power_of_two(actual / std::fma(s[0].actual, s[1].actual, s[2].actual));
    sum = {sum.value * scale, sum.bound * scale};
  }
  const double twice = row.source_bits > row.result_bits ? unit_of(row.source_bits) : 0;
  return cell_of(row, sum, actual, u + twice);
}

// A small whole number beside numbers: the exponent of ldexp, what is converted.
int32_t whole_number(const RuleRow& row, const Sample& sample) {
  return row.source_bits == 16 ? static_cast<int16_t>(sample.bits)
                               : static_cast<int32_t>(sample.bits);
}

Cell dot2(const RuleRow& row, std::span<const Sample> s, double actual) {
  const double u = unit(row);
  const Number low = multiply(number(s[0]), number(s[2]));
  const Number high = multiply(number(s[1]), number(s[3]));
  Number sum = add(add(low, high, 1), number(s[4]), 1);
  sum.bound += u * (std::fabs(low.value) + std::fabs(high.value));
  return cell_of(row, sum, actual, 2 * u);
}

Cell divide(const RuleRow& row, std::span<const Sample> s, double actual) {
  if (actual == 0 || !std::isfinite(actual)) return {};
  const Number by = number(s[1]);
  const Number what = number(s[2]);
  const double value = what.value / by.value;
  return cell_of(row, {value, (what.bound + std::fabs(value) * by.bound) / safe_size(by)}, actual,
                 2 * unit(row));
}

Cell scaled(const RuleRow& row, std::span<const Sample> s, double actual) {
  const double scale = row.rule == Rule::kScale
                           ? std::ldexp(1.0, std::clamp(whole_number(row, s[1]), -4000, 4000))
                           : power_of_two(actual / s[0].actual);
  return cell_of(row, {s[0].cell.value * scale, s[0].cell.bound * scale}, actual,
                 row.result_bits == 16 ? unit(row) : 0);
}

RuleRow f32_rule(Op op) {
  switch (op) {
    case Op::v_add_f32: return f32(Rule::kAdd, 2);
    case Op::v_sub_f32: return f32(Rule::kSubtract, 2);
    case Op::v_subrev_f32: return f32(Rule::kSubtractReversed, 2);
    case Op::v_mul_f32: return f32(Rule::kMultiply, 2);
    case Op::v_mul_legacy_f32: return f32(Rule::kMultiplyLegacy, 2);
    case Op::v_fma_f32:
    case Op::v_fmac_f32:
    case Op::v_fmaak_f32:
    case Op::v_fmamk_f32:
    case Op::v_fma_mix_f32: return f32(Rule::kFma, 3);
    case Op::v_fma_legacy_f32:
    case Op::v_fmac_legacy_f32: return f32(Rule::kFmaLegacy, 3);
    case Op::v_mac_f32:
    case Op::v_mad_f32:
    case Op::v_madak_f32:
    case Op::v_madmk_f32:
    case Op::v_mad_mix_f32: return f32(Rule::kMad, 3);
    case Op::v_pk_add_f32: return f32(Rule::kAdd, 2);
    case Op::v_pk_mul_f32: return f32(Rule::kMultiply, 2);
    case Op::v_pk_fma_f32: return f32(Rule::kFma, 3);
    case Op::v_max_f32:
    case Op::v_min_f32: return f32(Rule::kPick, 2);
    case Op::v_max3_f32:
    case Op::v_min3_f32:
    case Op::v_med3_f32:
    case Op::v_maxmin_f32:
    case Op::v_minmax_f32: return f32(Rule::kPick, 3);
    case Op::v_rcp_f32:
    case Op::v_rcp_iflag_f32: return f32(Rule::kReciprocal, 1);
    case Op::v_rsq_f32: return f32(Rule::kReciprocalRoot, 1);
    case Op::v_sqrt_f32: return f32(Rule::kRoot, 1);
    case Op::v_exp_f32:
    case Op::v_exp_legacy_f32: return f32(Rule::kExp2, 1);
    case Op::v_log_f32:
    case Op::v_log_legacy_f32: return f32(Rule::kLog2, 1);
    case Op::v_sin_f32: return f32(Rule::kSine, 1);
    case Op::v_cos_f32: return f32(Rule::kCosine, 1);
    case Op::v_ldexp_f32: return f32(Rule::kScale, 2);
    case Op::v_fract_f32: return f32(Rule::kFraction, 1);
    case Op::v_frexp_mant_f32: return f32(Rule::kPowerOfTwo, 1);
    case Op::v_div_scale_f32: return f32(Rule::kPowerOfTwo, 1);
    case Op::v_div_fmas_f32: return f32(Rule::kDivideFmas, 3);
    case Op::v_div_fixup_f32: return f32(Rule::kDivide, 3);
    case Op::v_cvt_f32_i32: return f32(Rule::kFromSigned, 1);
    case Op::v_cvt_f32_u32: return f32(Rule::kFromUnsigned, 1);
    case Op::v_cvt_f32_f16: return {Rule::kConvert, 16, 32, 1};
    case Op::v_dot2_f32_f16:
    case Op::v_dot2c_f32_f16: return {Rule::kDot2, 16, 32, 5};
    default: return {};
  }
}

// Packed ones are two of these.
RuleRow f16_rule(Op op) {
  switch (op) {
    case Op::v_add_f16:
    case Op::v_pk_add_f16: return f16(Rule::kAdd, 2);
    case Op::v_sub_f16: return f16(Rule::kSubtract, 2);
    case Op::v_subrev_f16: return f16(Rule::kSubtractReversed, 2);
    case Op::v_mul_f16:
    case Op::v_pk_mul_f16: return f16(Rule::kMultiply, 2);
    case Op::v_fma_f16:
    case Op::v_fma_legacy_f16:
    case Op::v_fmac_f16:
    case Op::v_fmaak_f16:
    case Op::v_fmamk_f16:
    case Op::v_pk_fma_f16:
    case Op::v_pk_fmac_f16: return f16(Rule::kFma, 3);
    case Op::v_mac_f16:
    case Op::v_mad_f16:
    case Op::v_mad_legacy_f16:
    case Op::v_madak_f16:
    case Op::v_madmk_f16: return f16(Rule::kMad, 3);
    case Op::v_fma_mixlo_f16:
    case Op::v_fma_mixhi_f16: return {Rule::kFma, 32, 16, 3};
    case Op::v_mad_mixlo_f16:
    case Op::v_mad_mixhi_f16: return {Rule::kMad, 32, 16, 3};
    case Op::v_max_f16:
    case Op::v_min_f16:
    case Op::v_pk_max_f16:
    case Op::v_pk_min_f16: return f16(Rule::kPick, 2);
    case Op::v_max3_f16:
    case Op::v_min3_f16:
    case Op::v_med3_f16:
    case Op::v_maxmin_f16:
    case Op::v_minmax_f16: return f16(Rule::kPick, 3);
    case Op::v_rcp_f16: return f16(Rule::kReciprocal, 1);
    case Op::v_rsq_f16: return f16(Rule::kReciprocalRoot, 1);
    case Op::v_sqrt_f16: return f16(Rule::kRoot, 1);
    case Op::v_exp_f16: return f16(Rule::kExp2, 1);
    case Op::v_log_f16: return f16(Rule::kLog2, 1);
    case Op::v_sin_f16: return f16(Rule::kSine, 1);
    case Op::v_cos_f16: return f16(Rule::kCosine, 1);
    case Op::v_ldexp_f16: return f16(Rule::kScale, 2);
    case Op::v_fract_f16: return f16(Rule::kFraction, 1);
    case Op::v_frexp_mant_f16: return f16(Rule::kPowerOfTwo, 1);
    case Op::v_div_fixup_f16:
    case Op::v_div_fixup_legacy_f16: return f16(Rule::kDivide, 3);
    case Op::v_cvt_f16_f32: return {Rule::kConvert, 32, 16, 1};
    case Op::v_cvt_pkrtz_f16_f32: return {Rule::kConvert, 32, 16, 1, true};
    case Op::v_cvt_f16_i16: return f16(Rule::kFromSigned, 1);
    case Op::v_cvt_f16_u16: return f16(Rule::kFromUnsigned, 1);
    default: return {};
  }
}

RuleRow f64_rule(Op op) {
  switch (op) {
    case Op::v_add_f64: return f64(Rule::kAdd, 2);
    case Op::v_mul_f64: return f64(Rule::kMultiply, 2);
    case Op::v_fma_f64:
    case Op::v_fmac_f64: return f64(Rule::kFma, 3);
    case Op::v_max_f64:
    case Op::v_min_f64: return f64(Rule::kPick, 2);
    case Op::v_rcp_f64: return f64(Rule::kReciprocal, 1);
    case Op::v_rsq_f64: return f64(Rule::kReciprocalRoot, 1);
    case Op::v_sqrt_f64: return f64(Rule::kRoot, 1);
    case Op::v_ldexp_f64: return f64(Rule::kScale, 2);
    case Op::v_fract_f64: return f64(Rule::kFraction, 1);
    case Op::v_frexp_mant_f64:
    case Op::v_div_scale_f64: return f64(Rule::kPowerOfTwo, 1);
    case Op::v_div_fmas_f64: return f64(Rule::kDivideFmas, 3);
    case Op::v_div_fixup_f64: return f64(Rule::kDivide, 3);
    case Op::v_cvt_f64_f32: return {Rule::kConvert, 32, 64, 1};
    case Op::v_cvt_f32_f64: return {Rule::kConvert, 64, 32, 1};
    default: return {};
  }
}

RuleRow bits_rule(Op op) {
  switch (op) {
    case Op::v_mov_b32:
    case Op::v_readfirstlane_b32:
    case Op::v_readlane_b32:
    case Op::v_writelane_b32:
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32:
    case Op::v_permlane64_b32:
    case Op::v_swap_b32:
    case Op::v_pk_mov_b32:
    case Op::v_mov_b64:
    case Op::ds_bpermute_b32:
    case Op::ds_swizzle_b32:
    case Op::s_mov_b32:
    case Op::s_mov_b64:
    case Op::v_accvgpr_read_b32:
    case Op::v_accvgpr_write_b32:
    case Op::v_accvgpr_mov_b32: return f32(Rule::kMove, 1);
    case Op::v_cndmask_b32: return f32(Rule::kSelect, 2);
    case Op::v_lshlrev_b32:
    case Op::v_lshrrev_b32:
    case Op::v_and_b32:
    case Op::v_or_b32:
    case Op::v_xor_b32:
    case Op::v_pack_b32_f16: return f32(Rule::kBits, 2);
    case Op::v_bfe_u32:
    case Op::v_bfi_b32:
    case Op::v_and_or_b32:
    case Op::v_or3_b32:
    case Op::v_lshl_or_b32:
    case Op::v_perm_b32:
    case Op::v_alignbit_b32:
    case Op::v_alignbyte_b32: return f32(Rule::kBits, 3);
    case Op::v_add_u32:
    case Op::v_sub_u32:
    case Op::v_subrev_u32:
    case Op::v_add_co_u32: return f32(Rule::kStep, 2);
    default: return {};
  }
}

bool names_a_number(std::string_view name) {
  for (const char* type : {"_f16", "_f32", "_f64", "bf16", "_xf32", "_fp8", "_bf8"})
    if (name.find(type) != std::string_view::npos) return true;
  return false;
}

// Arithmetic of floating point that has no rule, by its name. What comes out as a whole number, or is
// rounded to one, is the original's decision.
bool is_arithmetic(Op op) {
  const std::string_view name = isa::op_name(op);
  if (name.starts_with("v_movrel") || name.starts_with("v_swaprel")) return true;
  for (const char* whole :
       {"v_floor", "v_ceil", "v_trunc", "v_rndne", "v_cvt_i", "v_cvt_u", "v_cvt_flr", "v_cvt_rpi",
        "v_frexp_exp", "v_cvt_f32_ubyte", "v_cvt_f64_i32", "v_cvt_f64_u32", "v_cmp", "v_cvt_off",
        "v_cvt_norm", "v_cvt_pknorm"})
    if (name.starts_with(whole)) return false;
  return names_a_number(name);
}

// Asked of every instruction that runs, so found once.
struct OpRow {
  RuleRow row;
  bool is_of_bits = false;
};

OpRow find_row(Op op) {
  RuleRow row = f32_rule(op);
  if (row.rule == Rule::kWhole) row = f64_rule(op);
  if (row.rule == Rule::kWhole) row = f16_rule(op);
  if (row.rule == Rule::kWhole) row = bits_rule(op);
  if (row.rule == Rule::kWhole && is_arithmetic(op)) row.rule = Rule::kUnknown;
  const bool is_of_bits = row.rule == Rule::kBits || row.rule == Rule::kStep ||
                          (row.rule == Rule::kWhole && !names_a_number(isa::op_name(op)));
  return {row, is_of_bits};
}

const OpRow& row_of(Op op) {
  static const auto* const rows = [] {
    auto* made = new std::vector<OpRow>(static_cast<size_t>(Op::kCount));
    for (size_t i = 1; i < made->size(); ++i) (*made)[i] = find_row(static_cast<Op>(i));
    return made;
  }();
  return (*rows)[static_cast<size_t>(op)];
}

}  // namespace

RuleRow rule_of(Op op) { return row_of(op).row; }
bool is_of_bits(Op op) { return row_of(op).is_of_bits; }

WordCells evaluate_bits(const RuleRow& row, std::span<const RawSample> sources, uint32_t bits) {
  if (row.rule == Rule::kStep) return WordCells::of(step_of(sources, bits));
  if (const Cell cell = whole_of(sources, bits); !cell.is_exact()) return WordCells::of(cell);
  return {half_of(sources, bits & 0xffff), half_of(sources, bits >> 16)};
}

Cell evaluate(const RuleRow& row, std::span<const Sample> s, double actual, uint32_t bits) {
  if (row.rule == Rule::kUnknown) return kUnknownCell;
  if (row.rule == Rule::kWhole || s.empty()) return {};
  if (row.rule != Rule::kPick) {
    if (const CellKind lost = kind_of_lost(s); lost != CellKind::kExact) return {0, 0, lost};
    if (has_overflowed(row, s, actual)) return {0, 0, CellKind::kOverflow};
  }
  const double u = unit(row);
  switch (row.rule) {
    case Rule::kAdd: return cell_of(row, add(number(s[0]), number(s[1]), 1), actual, u);
    case Rule::kSubtract: return cell_of(row, add(number(s[0]), number(s[1]), -1), actual, u);
    case Rule::kSubtractReversed:
      return cell_of(row, add(number(s[1]), number(s[0]), -1), actual, u);
    case Rule::kMultiply:
    case Rule::kMultiplyLegacy:
    case Rule::kFma:
    case Rule::kFmaLegacy:
    case Rule::kMad:
    case Rule::kDivideFmas: return products(row, s, actual);
    case Rule::kPick: return pick(s, actual);
    case Rule::kScale:
    case Rule::kPowerOfTwo: return scaled(row, s, actual);
    case Rule::kFraction:
      return cell_of(row, {s[0].cell.value - (s[0].actual - actual), s[0].cell.bound}, actual, u);
    case Rule::kDivide: return divide(row, s, actual);
    case Rule::kConvert:
      return cell_of(row, number(s[0]), actual, row.result_bits < row.source_bits ? u : 0);
    case Rule::kFromSigned:
      return cell_of(row, {static_cast<double>(whole_number(row, s[0])), 0}, actual, u);
    case Rule::kFromUnsigned: return cell_of(row, {static_cast<double>(s[0].bits), 0}, actual, u);
    case Rule::kDot2: return dot2(row, s, actual);
    default: return function(row, s[0], actual);
  }
}

}  // namespace wavetap::proof
