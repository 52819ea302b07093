// Compares: v_cmp_* and v_cmpx_*. One list of conditions per kind of type; each makes two
// operations.
//
// "n" conditions are negations, so they hold when an operand is NaN: v_cmp_nlt is !(a < b).
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

constexpr auto kFalse = [](auto, auto) { return false; };
constexpr auto kTrue = [](auto, auto) { return true; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kNotEqual = [](auto a, auto b) { return a != b; };
constexpr auto kLessGreater = [](auto a, auto b) { return (a < b) | (a > b); };
constexpr auto kOrdered = [](auto a, auto b) { return (a == a) & (b == b); };
constexpr auto kUnordered = [](auto a, auto b) { return (a != a) | (b != b); };
constexpr auto kNotLess = [](auto a, auto b) { return !(a < b); };
constexpr auto kNotLessEqual = [](auto a, auto b) { return !(a <= b); };
constexpr auto kNotGreater = [](auto a, auto b) { return !(a > b); };
constexpr auto kNotGreaterEqual = [](auto a, auto b) { return !(a >= b); };
constexpr auto kNotLessGreater = [](auto a, auto b) { return !((a < b) | (a > b)); };

// The ten classes of a floating-point value, as bits of a mask: 0 signalling NaN, 1 quiet NaN, 2
// -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf. `kMantissa` is the
// mantissa's width.
template <int kMantissa, class T>
uint32_t class_of(T bits, int exponent_bits) {
  const T mantissa_mask = (T{1} << kMantissa) - 1;
  const T exponent_mask = (T{1} << exponent_bits) - 1;
  const T mantissa = bits & mantissa_mask;
  const T exponent = bits >> kMantissa & exponent_mask;
  const bool negative = (bits >> (kMantissa + exponent_bits) & 1) != 0;
  if (exponent == exponent_mask) {
    if (mantissa != 0) return (mantissa >> (kMantissa - 1)) != 0 ? 1u << 1 : 1u << 0;
    return negative ? 1u << 2 : 1u << 9;
  }
  if (exponent == 0 && mantissa == 0) return negative ? 1u << 5 : 1u << 6;
  if (exponent == 0) return negative ? 1u << 4 : 1u << 7;
  return negative ? 1u << 3 : 1u << 8;
}
constexpr auto kClassF16 = [](uint16_t a, uint32_t mask) {
  return (class_of<10>(uint32_t{a}, 5) & mask) != 0;
};
constexpr auto kClassF32 = [](uint32_t a, uint32_t mask) {
  return (class_of<23>(a, 8) & mask) != 0;
};
constexpr auto kClassF64 = [](uint64_t a, uint32_t mask) {
  return (class_of<52>(a, 11) & mask) != 0;
};

// A mask operand of v_cmp_class: only its low ten bits can match.
#define WT_COMPARE(condition, type, Tag, f)                      \
  {Op::v_cmp_##condition##_##type, vop<Bit(Tag, Tag)>(f)}, {     \
    Op::v_cmpx_##condition##_##type, vop<BitToExec(Tag, Tag)>(f) \
  }

#define WT_FLOAT_COMPARES(type, Tag)                                                        \
  WT_COMPARE(f, type, Tag, kFalse), WT_COMPARE(lt, type, Tag, kLess),                       \
      WT_COMPARE(eq, type, Tag, kEqual), WT_COMPARE(le, type, Tag, kLessEqual),             \
      WT_COMPARE(gt, type, Tag, kGreater), WT_COMPARE(lg, type, Tag, kLessGreater),         \
      WT_COMPARE(ge, type, Tag, kGreaterEqual), WT_COMPARE(o, type, Tag, kOrdered),         \
      WT_COMPARE(u, type, Tag, kUnordered), WT_COMPARE(nge, type, Tag, kNotGreaterEqual),   \
      WT_COMPARE(nlg, type, Tag, kNotLessGreater), WT_COMPARE(ngt, type, Tag, kNotGreater), \
      WT_COMPARE(nle, type, Tag, kNotLessEqual), WT_COMPARE(neq, type, Tag, kNotEqual),     \
      WT_COMPARE(nlt, type, Tag, kNotLess), WT_COMPARE(tru, type, Tag, kTrue)

#define WT_INT_COMPARES(type, Tag)                                               \
  WT_COMPARE(f, type, Tag, kFalse), WT_COMPARE(lt, type, Tag, kLess),            \
      WT_COMPARE(eq, type, Tag, kEqual), WT_COMPARE(le, type, Tag, kLessEqual),  \
      WT_COMPARE(gt, type, Tag, kGreater), WT_COMPARE(ne, type, Tag, kNotEqual), \
      WT_COMPARE(ge, type, Tag, kGreaterEqual), WT_COMPARE(t, type, Tag, kTrue)

constexpr auto kTable = vop_table({
    WT_FLOAT_COMPARES(f16, F16),
    WT_FLOAT_COMPARES(f32, F32),
    WT_FLOAT_COMPARES(f64, F64),
    WT_INT_COMPARES(i16, I16),
    WT_INT_COMPARES(u16, U16),
    WT_INT_COMPARES(i32, I32),
    WT_INT_COMPARES(u32, U32),
    WT_INT_COMPARES(i64, I64),
    WT_INT_COMPARES(u64, U64),
    {Op::v_cmp_class_f16, vop<Bit(U16, U32)>(kClassF16)},
    {Op::v_cmp_class_f32, vop<Bit(U32, U32)>(kClassF32)},
    {Op::v_cmp_class_f64, vop<Bit(U64, U32)>(kClassF64)},
    {Op::v_cmpx_class_f16, vop<BitToExec(U16, U32)>(kClassF16)},
    {Op::v_cmpx_class_f32, vop<BitToExec(U32, U32)>(kClassF32)},
    {Op::v_cmpx_class_f64, vop<BitToExec(U64, U32)>(kClassF64)},
});

}  // namespace

const VopRow* find_vopc_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
