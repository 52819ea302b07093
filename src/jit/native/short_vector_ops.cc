// Vector operations of 16 bits: halves, pairs of them, mixed with singles, and integers.
#include "jit/native/vector_ops.h"
#include "jit/native/vector_rows.h"

namespace wavetap::jit {
namespace {

using namespace rows;

// clang-format off
constexpr Row kRows[] = {
    // Half precision.
    h2(Op::v_add_f16, fadd), h2(Op::v_sub_f16, fsub), h2(Op::v_subrev_f16, fsubrev), h2(Op::v_mul_f16, fmul),
    h3(Op::v_fma_f16, fma_half), h3(Op::v_fmaak_f16, fma_half), h3(Op::v_fmamk_f16, fma_half),
    arith(make(Op::v_fmac_f16, kH, fma_half, kH, kH, Type::kOldF16)),
    h2(Op::v_min_f16, number2<llvm::Intrinsic::minimum>), h2(Op::v_max_f16, number2<llvm::Intrinsic::maximum>),
    h3(Op::v_min3_f16, (number3<llvm::Intrinsic::minimum, llvm::Intrinsic::minimum>)),
    h3(Op::v_max3_f16, (number3<llvm::Intrinsic::maximum, llvm::Intrinsic::maximum>)),
    only_numbers(make(Op::v_med3_f16, kH, median_float, kH, kH, kH)),
    h1(Op::v_floor_f16, unary<llvm::Intrinsic::floor>), h1(Op::v_ceil_f16, unary<llvm::Intrinsic::ceil>),
    h1(Op::v_trunc_f16, unary<llvm::Intrinsic::trunc>), h1(Op::v_rndne_f16, unary<llvm::Intrinsic::roundeven>),
    h1(Op::v_rcp_f16, rcp_half), h1(Op::v_sqrt_f16, sqrt_half), h1(Op::v_rsq_f16, rsq_half),
    h1(Op::v_exp_f16, exp2_f16), h1(Op::v_log_f16, log2_f16), h1(Op::v_sin_f16, sine_f16), h1(Op::v_cos_f16, cosine_f16),
    arith(make(Op::v_pk_add_f16, kHH, fadd, kHH, kHH)), arith(make(Op::v_pk_mul_f16, kHH, fmul, kHH, kHH)),
    arith(make(Op::v_pk_fma_f16, kHH, fma_half, kHH, kHH, kHH)),
    in_place(arith(make(Op::v_pk_fmac_f16, kHH, fma_half, kHH, kHH, Type::kOldF16x2))),
    arith(make(Op::v_pk_min_f16, kHH, number2<llvm::Intrinsic::minimum>, kHH, kHH)),
    arith(make(Op::v_pk_max_f16, kHH, number2<llvm::Intrinsic::maximum>, kHH, kHH)),
    make(Op::v_pack_b32_f16, kU, [](L& l, S s) { return l.ir.CreateOr(s[0], l.ir.CreateShl(s[1], l.splat(16u))); }, kU16, kU16),

    make(Op::v_cvt_i16_f16, kU16, half_to_integer<llvm::Intrinsic::fptosi_sat>, kH),
    make(Op::v_cvt_u16_f16, kU16, half_to_integer<llvm::Intrinsic::fptoui_sat>, kH),

    // Mixed precision.
    arith(make(Op::v_fma_mix_f32, kF, fma, kMix, kMix, kMix)),
    arith(make(Op::v_fma_mixlo_f16, kH, fma_to_half, kMix, kMix, kMix)),
    arith(make(Op::v_fma_mixhi_f16, kH, fma_to_half, kMix, kMix, kMix)),
    arith(make(Op::v_mad_mix_f32, kF, mad, kMix, kMix, kMix)),
    arith(make(Op::v_mad_mixlo_f16, kH, mad_to_half, kMix, kMix, kMix)),
    arith(make(Op::v_mad_mixhi_f16, kH, mad_to_half, kMix, kMix, kMix)),
    arith(make(Op::v_dot2_f32_f16, kF, dot2_f32, kHH, kHH, kF)),
    in_place(arith(make(Op::v_dot2c_f32_f16, kF, dot2_f32, kHH, kHH, Type::kOldF32))),

    // Integers of 16 bits.
    make(Op::v_mov_b16, kU16, [](L&, S s) { return s[0]; }, kU16), make(Op::v_not_b16, kU16, [](L& l, S s) { return l.ir.CreateNot(s[0]); }, kU16),
    make(Op::v_and_b16, kU16, [](L& l, S s) { return l.ir.CreateAnd(s[0], s[1]); }, kU16, kU16),
    make(Op::v_or_b16, kU16, [](L& l, S s) { return l.ir.CreateOr(s[0], s[1]); }, kU16, kU16),
    make(Op::v_xor_b16, kU16, [](L& l, S s) { return l.ir.CreateXor(s[0], s[1]); }, kU16, kU16),
    make(Op::v_cndmask_b16, kU16, [](L& l, S s) { return l.ir.CreateSelect(s[2], s[1], s[0]); }, kU16, kU16, Type::kMask),
    make(Op::v_add_u16, kU16, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }, kU16, kU16),
    make(Op::v_add_i16, kU16, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }, kU16, kU16),
    make(Op::v_sub_u16, kU16, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }, kU16, kU16),
    make(Op::v_sub_i16, kU16, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }, kU16, kU16),
    make(Op::v_subrev_u16, kU16, [](L& l, S s) { return l.ir.CreateSub(s[1], s[0]); }, kU16, kU16),
    make(Op::v_mul_lo_u16, kU16, [](L& l, S s) { return l.ir.CreateMul(s[0], s[1]); }, kU16, kU16),
    make(Op::v_mad_u16, kU16, [](L& l, S s) { return multiply_add(l, s[0], s[1], s[2]); }, kU16, kU16, kU16),
    make(Op::v_mad_i16, kU16, [](L& l, S s) { return multiply_add(l, s[0], s[1], s[2]); }, kU16, kU16, kU16),
    make(Op::v_lshlrev_b16, kU16, [](L& l, S s) { return l.ir.CreateShl(s[1], count16(l, s[0])); }, kU16, kU16),
    make(Op::v_lshrrev_b16, kU16, [](L& l, S s) { return l.ir.CreateLShr(s[1], count16(l, s[0])); }, kU16, kU16),
    make(Op::v_ashrrev_i16, kU16, [](L& l, S s) { return l.ir.CreateAShr(s[1], count16(l, s[0])); }, kU16, kI16),
    make(Op::v_min_u16, kU16, pick<CmpInst::ICMP_ULT>, kU16, kU16), make(Op::v_max_u16, kU16, pick<CmpInst::ICMP_UGT>, kU16, kU16),
    make(Op::v_min_i16, kU16, pick<CmpInst::ICMP_SLT>, kI16, kI16), make(Op::v_max_i16, kU16, pick<CmpInst::ICMP_SGT>, kI16, kI16),
    make(Op::v_min3_u16, kU16, pick3<CmpInst::ICMP_ULT>, kU16, kU16, kU16), make(Op::v_max3_u16, kU16, pick3<CmpInst::ICMP_UGT>, kU16, kU16, kU16),
    make(Op::v_min3_i16, kU16, pick3<CmpInst::ICMP_SLT>, kI16, kI16, kI16), make(Op::v_max3_i16, kU16, pick3<CmpInst::ICMP_SGT>, kI16, kI16, kI16),
    make(Op::v_med3_u16, kU16, (median<CmpInst::ICMP_ULT, CmpInst::ICMP_UGT>), kU16, kU16, kU16),
    make(Op::v_med3_i16, kU16, (median<CmpInst::ICMP_SLT, CmpInst::ICMP_SGT>), kI16, kI16, kI16),
    uu2(Op::v_pk_add_u16, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }),
    uu2(Op::v_pk_add_i16, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }),
    uu2(Op::v_pk_sub_u16, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }),
    uu2(Op::v_pk_sub_i16, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }),
    uu2(Op::v_pk_mul_lo_u16, [](L& l, S s) { return l.ir.CreateMul(s[0], s[1]); }),
    make(Op::v_pk_mad_u16, kUU, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateMul(s[0], s[1]), s[2]); }, kUU, kUU, kUU),
    make(Op::v_pk_mad_i16, kUU, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateMul(s[0], s[1]), s[2]); }, kUU, kUU, kUU),
    uu2(Op::v_pk_min_u16, pick<CmpInst::ICMP_ULT>), uu2(Op::v_pk_max_u16, pick<CmpInst::ICMP_UGT>),
    uu2(Op::v_pk_min_i16, pick<CmpInst::ICMP_SLT>), uu2(Op::v_pk_max_i16, pick<CmpInst::ICMP_SGT>),
    uu2(Op::v_pk_lshlrev_b16, [](L& l, S s) { return l.ir.CreateShl(s[1], count16(l, s[0])); }),
    uu2(Op::v_pk_lshrrev_b16, [](L& l, S s) { return l.ir.CreateLShr(s[1], count16(l, s[0])); }),
    uu2(Op::v_pk_ashrrev_i16, [](L& l, S s) { return l.ir.CreateAShr(s[1], count16(l, s[0])); }),
    make(Op::v_dot2_i32_i16, kU, dot<16, true>, kUU, kUU, kU), make(Op::v_dot2_u32_u16, kU, dot<16, false>, kUU, kUU, kU),
    in_place(make(Op::v_dot2c_i32_i16, kU, dot<16, true>, kUU, kUU, Type::kOldU32)),
    u3(Op::v_dot8_i32_i4, dot<4, true>), u3(Op::v_dot8_u32_u4, dot<4, false>),
    make(Op::v_dot8c_i32_i4, kU, dot<4, true>, kU, kU, Type::kOldU32),

    WT_INT_COMPARES(i16, kI16, S), WT_INT_COMPARES(u16, kU16, U), WT_FLOAT_COMPARES(f16, kH),
    class_row(Op::v_cmp_class_f16, class_of<kHalf>, kU16, false), class_row(Op::v_cmpx_class_f16, class_of<kHalf>, kU16, true),
};
// clang-format on

constexpr auto kTable = sorted(kRows);

}  // namespace

std::span<const VectorOp> short_vector_ops() { return kTable; }

}  // namespace wavetap::jit
