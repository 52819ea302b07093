// VOP3P: packed arithmetic, mixed-precision multiply-add and dot products.
//
// A packed operation is the scalar one applied to the low and to the high parts of its operands;
// op_sel, op_sel_hi, neg_lo and neg_hi have been applied by the runner when the kernel sees them.
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#include <arm_neon.h>
#endif

#include "emu/exec/vop_float.h"
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

// --- Packed 16-bit integers.

// F on both halves, each taken as T (int16_t or uint16_t) and handed over as int32_t.
template <class T, class F>
struct PackedInt {
  template <class... Operands>
  uint32_t operator()(Operands... operands) const {
    const int32_t low = F{}(int32_t{static_cast<T>(operands)}...);
    const int32_t high = F{}(int32_t{static_cast<T>(operands >> 16)}...);
    return (static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high) << 16;
  }
};
// The same, limited to T's range.
template <class T, class F>
struct PackedIntSaturating {
  struct Limited {
    template <class... Operands>
    int32_t operator()(Operands... operands) const {
      const int64_t exact = F{}(int64_t{operands}...);
      constexpr int64_t kLow = std::numeric_limits<T>::min();
      constexpr int64_t kHigh = std::numeric_limits<T>::max();
      return static_cast<int32_t>(exact < kLow ? kLow : exact > kHigh ? kHigh : exact);
    }
  };
  template <class... Operands>
  uint32_t operator()(Operands... operands) const {
    return PackedInt<T, Limited>{}(operands...);
  }
};
template <class T, class F>
constexpr auto pk2(F) {
  return vop<I16x2(I16x2, I16x2)>(PackedInt<T, F>{});
}
template <class T, class F>
constexpr auto pk2_saturating(F) {
  return vop<I16x2(I16x2, I16x2)>(PackedInt<T, F>{}).saturating(PackedIntSaturating<T, F>{});
}
template <class T, class F>
constexpr auto pk3_saturating(F) {
  return vop<I16x2(I16x2, I16x2, I16x2)>(PackedInt<T, F>{}).saturating(PackedIntSaturating<T, F>{});
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
};
constexpr auto kMad = [](auto a, auto b, auto c) {
  using T = decltype(a);
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b) +
                        static_cast<Unsigned>(c));
};
constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto kShiftLeft = [](int32_t count, int32_t a) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << (count & 15));
};
constexpr auto kShiftRight = [](int32_t count, int32_t a) { return a >> (count & 15); };

// --- Packed f16.

inline float low_half(uint32_t pair) { return half_to_float(pair & 0xffff); }
inline float high_half(uint32_t pair) { return half_to_float(pair >> 16); }
inline uint32_t to_half(float value, int round) {
  return round == 0 ? float_to_half(value) : round_to_half(value, round);
}

// The engine's NaN rule on one half. Operands in order; the first NaN wins.
inline uint32_t nan_rule(uint32_t result, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t nan = is_nan_bits16(c) ? quiet16(c) : kDefaultNanF16;
  nan = is_nan_bits16(b) ? quiet16(b) : nan;
  nan = is_nan_bits16(a) ? quiet16(a) : nan;
  return is_nan_bits16(result) ? nan : result;
}

#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
// --- The quick form (lanes.h) of packed f16 arithmetic on hosts that have it: only NaNs need the
// --- full form.

inline float16x8_t halves_at(const uint32_t* row) { return vreinterpretq_f16_u32(vld1q_u32(row)); }

template <class F>
struct QuickArith {
  template <size_t... K>
  [[gnu::always_inline]] static uint32_t quick_sources(const Block& block, uint32_t* result,
                                                       std::index_sequence<K...>) {
    uint16x8_t ordered = vdupq_n_u16(0xffff);
    for (size_t i = 0; i < kBlockLanes; i += 4) {
      const float16x8_t halves = F{}(halves_at(block.row.lo[K] + block.first + i)...);
      ordered = vandq_u16(ordered, vceqq_f16(halves, halves));
      vst1q_u32(result + i, vreinterpretq_u32_f16(halves));
    }
    return vminvq_u16(ordered) == 0 ? 1 : 0;
  }
  [[gnu::always_inline]] static uint32_t quick_block(const Block& block, uint32_t* result) {
    constexpr size_t kOperands = std::is_invocable_v<F, float, float, float> ? 3 : 2;
    return quick_sources(block, result, std::make_index_sequence<kOperands>{});
  }
};
#else
// --- The quick form (lanes.h) of packed f16 arithmetic, for finite operands and results that are
// --- zero or normal. Doubt is a sign bit here: integer arithmetic makes those in fewer
// --- instructions than comparisons do.

// Not zero when one of the two halves is infinite or NaN.
inline uint32_t is_not_finite(uint32_t pair) {
  return ((pair & 0x7fff7fffu) + 0x04000400u) & 0x80008000u;
}

// `sum` rounded to f16; it is a rounded sum itself, of `p` and `q`.
inline QuickResult quick_half(float p, float q, float sum) {
  const uint32_t bits = bits_of(sum);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t zero = magnitude - 1;
  // Not in [2^-14, 65520).
  const uint32_t out_of_range = (magnitude - 0x38800000u) | (0x477fefffu - magnitude);
  // Right between two halves, the part of the sum that was rounded away decides; there is none if
  // either operand can be had back.
  const uint32_t tie = ((bits & 0x1fffu) ^ 0x1000u) - 1;
  const uint32_t lost = (bits_of(sum - p) ^ bits_of(q)) | (bits_of(sum - q) ^ bits_of(p));
  const uint32_t doubt = (out_of_range & ~zero) | (lost != 0 ? tie : 0);
  const uint32_t rounded = (magnitude + (0xfffu - 0x38000000u) + (magnitude >> 13 & 1)) >> 13;
  return {(magnitude != 0 ? rounded : 0) | (bits & 0x80000000u) >> 16, doubt & 0x80000000u};
}
inline QuickResult quick_pair(QuickResult low, QuickResult high, uint32_t not_finite) {
  return {low.bits | high.bits << 16, low.doubt | high.doubt | not_finite};
}

// Fma is exact in the product, which fits a float.
inline QuickResult quick_fma(uint32_t a, uint32_t b, uint32_t c) {
  const float product = finite_half_to_float(a) * finite_half_to_float(b);
  const float addend = finite_half_to_float(c);
  return quick_half(product, addend, product + addend);
}

template <class F>
struct QuickArith {
  static QuickResult quick(uint32_t a, uint32_t b, uint32_t c, int) {
    constexpr uint32_t kHigh = 0xffff0000u;
    return quick_pair(quick_fma(a << 16, b << 16, c << 16),
                      quick_fma(a & kHigh, b & kHigh, c & kHigh),
                      is_not_finite(a) | is_not_finite(b) | is_not_finite(c));
  }
};
#endif

struct AddHalf {
  float operator()(float a, float b) const { return a + b; }
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
  float16x8_t operator()(float16x8_t a, float16x8_t b) const { return vaddq_f16(a, b); }
#endif
};
struct MulHalf {
  float operator()(float a, float b) const { return a * b; }
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
  float16x8_t operator()(float16x8_t a, float16x8_t b) const { return vmulq_f16(a, b); }
#endif
};
struct FmaHalf {
  float operator()(float a, float b, float c) const { return fma_for_half(a, b, c); }
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
  float16x8_t operator()(float16x8_t a, float16x8_t b, float16x8_t c) const {
    return vfmaq_f16(c, a, b);
  }
#endif
};

template <class F>
struct PackedArith : QuickArith<F> {
  uint32_t operator()(uint32_t a, uint32_t b, int round) const {
    const uint32_t low = to_half(F{}(low_half(a), low_half(b)), round);
    const uint32_t high = to_half(F{}(high_half(a), high_half(b)), round);
    return nan_rule(low, a & 0xffff, b & 0xffff, 0) | nan_rule(high, a >> 16, b >> 16, 0) << 16;
  }
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c, int round) const {
    const uint32_t low = to_half(F{}(low_half(a), low_half(b), low_half(c)), round);
    const uint32_t high = to_half(F{}(high_half(a), high_half(b), high_half(c)), round);
    return nan_rule(low, a & 0xffff, b & 0xffff, c & 0xffff) |
           nan_rule(high, a >> 16, b >> 16, c >> 16) << 16;
  }
};
template <class F>
struct PackedNumber {
  uint32_t operator()(uint32_t a, uint32_t b, bool ieee) const {
    return float_to_half(F{}(low_half(a), low_half(b), ieee)) |
           float_to_half(F{}(high_half(a), high_half(b), ieee)) << 16;
  }
};
// --- Packed f32 (gfx90a and later).

template <class F>
struct PackedPair {
  template <class... Pairs>
  FloatPair operator()(Pairs... pairs) const {
    return {F{}(pairs.lo...), F{}(pairs.hi...)};
  }
};
constexpr auto kFma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };

// --- Mixed precision.

// v_mad_mix rounds the product and never keeps denormals.
constexpr auto kMadMix = [](float a, float b, float c) {
  const float product = flush_denormal(flush_denormal(a) * flush_denormal(b));
  return flush_denormal(product + flush_denormal(c));
};

// --- Dot products.

// Sum of products of `kCount` fields, exact in 64 bits, added to c.
template <int kCount, bool kSignedA, bool kSignedB>
int64_t dot(uint32_t a, uint32_t b, int64_t c) {
  constexpr int kBits = 32 / kCount;
  int64_t sum = c;
  for (int i = 0; i < kCount; ++i) {
    const uint32_t field_a = a << (32 - kBits * (i + 1));
    const uint32_t field_b = b << (32 - kBits * (i + 1));
    const int64_t value_a = kSignedA ? int64_t{static_cast<int32_t>(field_a) >> (32 - kBits)}
                                     : int64_t{field_a >> (32 - kBits)};
    const int64_t value_b = kSignedB ? int64_t{static_cast<int32_t>(field_b) >> (32 - kBits)}
                                     : int64_t{field_b >> (32 - kBits)};
    sum += value_a * value_b;
  }
  return sum;
}
template <class T, int kCount, bool kSignedA, bool kSignedB>
struct Dot {
  T operator()(uint32_t a, uint32_t b, T c) const {
    return static_cast<T>(static_cast<uint32_t>(dot<kCount, kSignedA, kSignedB>(a, b, c)));
  }
};
template <class T, int kCount, bool kSignedA, bool kSignedB>
struct DotSaturating {
  T operator()(uint32_t a, uint32_t b, T c) const {
    const int64_t exact = dot<kCount, kSignedA, kSignedB>(a, b, c);
    constexpr int64_t kLow = std::numeric_limits<T>::min();
    constexpr int64_t kHigh = std::numeric_limits<T>::max();
    return static_cast<T>(exact < kLow ? kLow : exact > kHigh ? kHigh : exact);
  }
};
template <class Sig, class T, int kCount, bool kSignedA, bool kSignedB = kSignedA>
constexpr auto dot_of() {
  return vop<Sig>(Dot<T, kCount, kSignedA, kSignedB>{})
      .saturating(DotSaturating<T, kCount, kSignedA, kSignedB>{});
}

// Two products added to c one after the other, each step rounded.
constexpr auto kDot2F32 = [](uint32_t a, uint32_t b, float c) {
  const float first = __builtin_fmaf(low_half(a), low_half(b), c);
  return __builtin_fmaf(high_half(a), high_half(b), first);
};
constexpr auto kDot2Bf16 = [](uint32_t a, uint32_t b, float c) {
  const float first = __builtin_fmaf(bf16_to_float(a & 0xffff), bf16_to_float(b & 0xffff), c);
  return __builtin_fmaf(bf16_to_float(a >> 16), bf16_to_float(b >> 16), first);
};
constexpr auto kDot2HalfResult = [](uint32_t a, uint32_t b, float c, int round) {
  const float first = half_to_float(to_half(fma_for_half(low_half(a), low_half(b), c), round));
  return fma_for_half(high_half(a), high_half(b), first);
};
constexpr auto kDot2Bf16Result = [](uint32_t a, uint32_t b, uint16_t c) {
  const float first = bf16_to_float(float_to_bf16(
      __builtin_fmaf(bf16_to_float(a & 0xffff), bf16_to_float(b & 0xffff), bf16_to_float(c))));
  const float sum = __builtin_fmaf(bf16_to_float(a >> 16), bf16_to_float(b >> 16), first);
  return static_cast<uint16_t>(sum != sum ? kDefaultNanF32 >> 16 : float_to_bf16(sum));
};

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_pk_add_u16, pk2_saturating<uint16_t>(kAdd)},
    {Op::v_pk_add_i16, pk2_saturating<int16_t>(kAdd)},
    {Op::v_pk_sub_u16, pk2_saturating<uint16_t>(kSub)},
    {Op::v_pk_sub_i16, pk2_saturating<int16_t>(kSub)},
    {Op::v_pk_mul_lo_u16, pk2<uint16_t>(kMul)},
    {Op::v_pk_mad_u16, pk3_saturating<uint16_t>(kMad)},
    {Op::v_pk_mad_i16, pk3_saturating<int16_t>(kMad)},
    {Op::v_pk_min_u16, pk2<uint16_t>(kMin)},
    {Op::v_pk_max_u16, pk2<uint16_t>(kMax)},
    {Op::v_pk_min_i16, pk2<int16_t>(kMin)},
    {Op::v_pk_max_i16, pk2<int16_t>(kMax)},
    {Op::v_pk_lshlrev_b16, pk2<uint16_t>(kShiftLeft)},
    {Op::v_pk_lshrrev_b16, pk2<uint16_t>(kShiftRight)},
    {Op::v_pk_ashrrev_i16, pk2<int16_t>(kShiftRight)},

    {Op::v_pk_add_f16, vop<F16x2(F16x2, F16x2, RoundMode)>(PackedArith<AddHalf>{}).flops(2)},
    {Op::v_pk_mul_f16, vop<F16x2(F16x2, F16x2, RoundMode)>(PackedArith<MulHalf>{}).flops(2)},
    {Op::v_pk_fma_f16, vop<F16x2(F16x2, F16x2, F16x2, RoundMode)>(PackedArith<FmaHalf>{}).flops(4)},
    {Op::v_pk_fmac_f16, vop<F16x2(F16x2InPlace, F16x2InPlace, Old<F16x2InPlace>, RoundMode)>(PackedArith<FmaHalf>{}).flops(4)},
    {Op::v_pk_min_f16, vop<F16x2(F16x2, F16x2, IeeeMode)>(PackedNumber<decltype(kMinNumber)>{})},
    {Op::v_pk_max_f16, vop<F16x2(F16x2, F16x2, IeeeMode)>(PackedNumber<decltype(kMaxNumber)>{})},

    {Op::v_pk_add_f32, arith<F32x2(F32x2, F32x2)>(PackedPair<decltype(kAddFloat)>{}).flops(2)},
    {Op::v_pk_mul_f32, arith<F32x2(F32x2, F32x2)>(PackedPair<decltype(kMulFloat)>{}).flops(2)},
    {Op::v_pk_fma_f32, arith<F32x2(F32x2, F32x2, F32x2)>(PackedPair<decltype(kFma)>{}).flops(4)},
    // Each result dword is op_sel's choice from its own source.
    {Op::v_pk_mov_b32, vop<U32x2(U32x2, U32x2)>([](DwordPair a, DwordPair b) { return DwordPair{a.lo, b.lo}; })},

    {Op::v_fma_mix_f32, arith<F32(Mixed, Mixed, Mixed)>(kFma).flops(2)},
    {Op::v_fma_mixlo_f16, arith<F16(Mixed, Mixed, Mixed)>(kFma).flops(2, Precision::kF32)},
    {Op::v_fma_mixhi_f16, arith<F16(Mixed, Mixed, Mixed)>(kFma).flops(2, Precision::kF32)},
    {Op::v_mad_mix_f32, arith<F32(Mixed, Mixed, Mixed)>(kMadMix).flops(2)},
    {Op::v_mad_mixlo_f16, arith<F16(Mixed, Mixed, Mixed)>(kMadMix).flops(2, Precision::kF32)},
    {Op::v_mad_mixhi_f16, arith<F16(Mixed, Mixed, Mixed)>(kMadMix).flops(2, Precision::kF32)},

    {Op::v_dot2_f32_f16, arith<F32(F16x2, F16x2, F32)>(kDot2F32).flops(4, Precision::kF16)},
    {Op::v_dot2c_f32_f16, arith<F32(F16x2InPlace, F16x2InPlace, Old<F32>)>(kDot2F32).flops(4, Precision::kF16)},
    {Op::v_dot2_f32_bf16, arith<F32(I16x2, I16x2, F32)>(kDot2Bf16).flops(4, Precision::kF16)},
    {Op::v_dot2_f16_f16, arith<F16(F16x2InPlace, F16x2InPlace, F16, RoundMode)>(kDot2HalfResult).flops(4, Precision::kF16)},
    {Op::v_dot2_bf16_bf16, vop<U16(I16x2InPlace, I16x2InPlace, U16)>(kDot2Bf16Result).flops(4, Precision::kF16)},
    {Op::v_dot2_i32_i16, dot_of<I32(I16x2, I16x2, I32), int32_t, 2, true>()},
    {Op::v_dot2_u32_u16, dot_of<U32(I16x2, I16x2, U32), uint32_t, 2, false>()},
    {Op::v_dot2c_i32_i16, dot_of<I32(I16x2InPlace, I16x2InPlace, Old<I32>), int32_t, 2, true>()},
    {Op::v_dot4_i32_i8, dot_of<I32(U32, U32, I32), int32_t, 4, true>()},
    {Op::v_dot4_u32_u8, dot_of<U32(U32, U32, U32), uint32_t, 4, false>()},
    {Op::v_dot4c_i32_i8, dot_of<I32(U32, U32, Old<I32>), int32_t, 4, true>()},
    {Op::v_dot8_i32_i4, dot_of<I32(U32, U32, I32), int32_t, 8, true>()},
    {Op::v_dot8_u32_u4, dot_of<U32(U32, U32, U32), uint32_t, 8, false>()},
    {Op::v_dot8c_i32_i4, dot_of<I32(U32, U32, Old<I32>), int32_t, 8, true>()},
});
// clang-format on

// v_dot4_i32_iu8 and v_dot8_i32_iu4: neg says for each of the first two sources that it is signed.
// That makes four operations of each; rows are [signed a][signed b].
template <int kCount>
constexpr VopRow kMixedSigns[2][2] = {
    {dot_of<I32(SignFree, SignFree, I32), int32_t, kCount, false, false>(),
     dot_of<I32(SignFree, SignFree, I32), int32_t, kCount, false, true>()},
    {dot_of<I32(SignFree, SignFree, I32), int32_t, kCount, true, false>(),
     dot_of<I32(SignFree, SignFree, I32), int32_t, kCount, true, true>()},
};

}  // namespace

const VopRow* find_vop3p_row(const Inst& inst) {
  const bool signed_a = inst.src[0].neg;
  const bool signed_b = inst.src[1].neg;
  if (inst.op == Op::v_dot4_i32_iu8) return &kMixedSigns<4>[signed_a][signed_b];
  if (inst.op == Op::v_dot8_i32_iu4) return &kMixedSigns<8>[signed_a][signed_b];
  return find_row(kTable, inst.op);
}

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
