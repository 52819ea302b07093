#include "jit/native/vector_ops.h"

#include <algorithm>

#include "jit/native/vector_rows.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {
namespace {

using namespace rows;

using isa::Operand;
using isa::OperandKind;

// clang-format off
constexpr Row kRows[] = {
    // Moves and selects.
    u1(Op::v_mov_b32, [](L&, S s) { return s[0]; }),
    make(Op::v_mov_b64, kU64, [](L&, S s) { return s[0]; }, kU64),
    make(Op::v_pk_mov_b32, kU64, [](L& l, S s) { return l.join(s[0], s[1]); }, Type::kChosen, Type::kChosen),
    make(Op::v_cndmask_b32, kU, [](L& l, S s) { return l.ir.CreateSelect(s[2], s[1], s[0]); }, kU, kU, Type::kMask),

    // Bitwise.
    u1(Op::v_not_b32, [](L& l, S s) { return l.ir.CreateNot(s[0]); }),
    u2(Op::v_and_b32, [](L& l, S s) { return l.ir.CreateAnd(s[0], s[1]); }),
    u2(Op::v_or_b32, [](L& l, S s) { return l.ir.CreateOr(s[0], s[1]); }),
    u2(Op::v_xor_b32, [](L& l, S s) { return l.ir.CreateXor(s[0], s[1]); }),
    u2(Op::v_xnor_b32, [](L& l, S s) { return l.ir.CreateNot(l.ir.CreateXor(s[0], s[1])); }),
    u3(Op::v_or3_b32, [](L& l, S s) { return l.ir.CreateOr(l.ir.CreateOr(s[0], s[1]), s[2]); }),
    u3(Op::v_xor3_b32, [](L& l, S s) { return l.ir.CreateXor(l.ir.CreateXor(s[0], s[1]), s[2]); }),
    u3(Op::v_and_or_b32, [](L& l, S s) { return l.ir.CreateOr(l.ir.CreateAnd(s[0], s[1]), s[2]); }),
    u3(Op::v_bfi_b32, [](L& l, S s) { return l.ir.CreateOr(l.ir.CreateAnd(s[0], s[1]), l.ir.CreateAnd(l.ir.CreateNot(s[0]), s[2])); }),
    u2(Op::v_bfm_b32, [](L& l, S s) { return l.ir.CreateShl(l.ir.CreateSub(l.ir.CreateShl(l.splat(1u), count32(l, s[0])), l.splat(1u)), count32(l, s[1])); }),
    u3(Op::v_perm_b32, perm_b32),
    u3(Op::v_dot4_i32_i8, dot<8, true>), u3(Op::v_dot4_u32_u8, dot<8, false>),
    make(Op::v_dot4c_i32_i8, kU, dot<8, true>, kU, kU, Type::kOldU32),
    u3(Op::v_bfe_u32, bfe_u32),
    u3(Op::v_bfe_i32, bfe_i32),
    u1(Op::v_bfrev_b32, unary<llvm::Intrinsic::bitreverse>),
    u2(Op::v_bcnt_u32_b32, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, s[0]), s[1]); }),
    u1(Op::v_ffbh_u32, [](L& l, S s) { return first_bit<llvm::Intrinsic::ctlz>(l, s[0]); }),
    u1(Op::v_ffbh_i32, [](L& l, S s) { return first_bit<llvm::Intrinsic::ctlz>(l, l.ir.CreateXor(s[0], l.ir.CreateAShr(s[0], l.splat(31u)))); }),
    u1(Op::v_ffbl_b32, [](L& l, S s) { return first_bit<llvm::Intrinsic::cttz>(l, s[0]); }),
    u2(Op::v_mbcnt_lo_u32_b32, [](L& l, S s) { return lanes_below(l, s, 0); }),
    u2(Op::v_mbcnt_hi_u32_b32, [](L& l, S s) { return lanes_below(l, s, 32); }),

    // Shifts.
    u2(Op::v_lshlrev_b32, [](L& l, S s) { return l.ir.CreateShl(s[1], count32(l, s[0])); }),
    u2(Op::v_lshrrev_b32, [](L& l, S s) { return l.ir.CreateLShr(s[1], count32(l, s[0])); }),
    u2(Op::v_ashrrev_i32, [](L& l, S s) { return l.ir.CreateAShr(s[1], count32(l, s[0])); }),
    make(Op::v_lshlrev_b64, kU64, [](L& l, S s) { return shift_left64(l, s[1], s[0]); }, kU, kU64),
    make(Op::v_lshrrev_b64, kU64, [](L& l, S s) { return l.ir.CreateLShr(s[1], count64(l, s[0])); }, kU, kU64),
    make(Op::v_ashrrev_i64, kU64, [](L& l, S s) { return l.ir.CreateAShr(s[1], count64(l, s[0])); }, kU, kU64),
    make(Op::v_lshl_add_u64, kU64, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateShl(s[0], count64(l, s[1], 7)), s[2]); }, kU64, kU, kU64),
    u3(Op::v_lshl_add_u32, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateShl(s[0], count32(l, s[1])), s[2]); }),
    u3(Op::v_add_lshl_u32, [](L& l, S s) { return l.ir.CreateShl(l.ir.CreateAdd(s[0], s[1]), count32(l, s[2])); }),
    u3(Op::v_lshl_or_b32, [](L& l, S s) { return l.ir.CreateOr(l.ir.CreateShl(s[0], count32(l, s[1])), s[2]); }),
    u3(Op::v_alignbit_b32, [](L& l, S s) { return funnel(l, s, count32(l, s[2])); }),
    u3(Op::v_alignbyte_b32, [](L& l, S s) { return funnel(l, s, l.ir.CreateShl(l.ir.CreateAnd(s[2], l.splat(3u)), l.splat(3u))); }),

    // Sums and differences.
    u2(Op::v_add_u32, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }),
    u2(Op::v_add_i32, [](L& l, S s) { return l.ir.CreateAdd(s[0], s[1]); }),
    u2(Op::v_sub_u32, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }),
    u2(Op::v_sub_i32, [](L& l, S s) { return l.ir.CreateSub(s[0], s[1]); }),
    u2(Op::v_subrev_u32, [](L& l, S s) { return l.ir.CreateSub(s[1], s[0]); }),
    u3(Op::v_add3_u32, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateAdd(s[0], s[1]), s[2]); }),
    u3(Op::v_xad_u32, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateXor(s[0], s[1]), s[2]); }),
    u2(Op::v_add_co_u32, [](L& l, S s) { return add_carry_out(l, s[0], s[1]); }).mask_result(),
    u2(Op::v_sub_co_u32, [](L& l, S s) { return sub_carry_out(l, s[0], s[1]); }).mask_result(),
    u2(Op::v_subrev_co_u32, [](L& l, S s) { return sub_carry_out(l, s[1], s[0]); }).mask_result(),
    make(Op::v_addc_co_u32, kU, [](L& l, S s) { return add_carry(l, s[0], s[1], s[2]); }, kU, kU, Type::kMask).mask_result(),
    make(Op::v_subb_co_u32, kU, [](L& l, S s) { return sub_borrow(l, s[0], s[1], s[2]); }, kU, kU, Type::kMask).mask_result(),
    make(Op::v_subbrev_co_u32, kU, [](L& l, S s) { return sub_borrow(l, s[1], s[0], s[2]); }, kU, kU, Type::kMask).mask_result(),

    // Products.
    u2(Op::v_mul_lo_u32, [](L& l, S s) { return l.ir.CreateMul(s[0], s[1]); }),
    u2(Op::v_mul_lo_i32, [](L& l, S s) { return l.ir.CreateMul(s[0], s[1]); }),
    u2(Op::v_mul_hi_u32, [](L& l, S s) { return mul_hi(l, s[0], s[1], false); }),
    u2(Op::v_mul_hi_i32, [](L& l, S s) { return mul_hi(l, s[0], s[1], true); }),
    u2(Op::v_mul_u32_u24, [](L& l, S s) { return l.ir.CreateMul(low24(l, s[0]), low24(l, s[1])); }),
    u2(Op::v_mul_i32_i24, [](L& l, S s) { return l.ir.CreateMul(sign24(l, s[0]), sign24(l, s[1])); }),
    u2(Op::v_mul_hi_u32_u24, [](L& l, S s) { return mul_hi(l, low24(l, s[0]), low24(l, s[1]), false); }),
    u2(Op::v_mul_hi_i32_i24, [](L& l, S s) { return mul_hi(l, sign24(l, s[0]), sign24(l, s[1]), true); }),
    u3(Op::v_mad_u32_u24, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateMul(low24(l, s[0]), low24(l, s[1])), s[2]); }),
    u3(Op::v_mad_i32_i24, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateMul(sign24(l, s[0]), sign24(l, s[1])), s[2]); }),
    make(Op::v_mad_u64_u32, kU64, mad_u64, kU, kU, kU64).mask_result(),
    make(Op::v_mad_i64_i32, kU64, mad_i64, kU, kU, kU64).mask_result(),
    make(Op::v_mad_u32_u16, kU, [](L& l, S s) { return multiply_add(l, s[0], s[1], s[2]); }, kU16, kU16, kU),
    make(Op::v_mad_i32_i16, kU, [](L& l, S s) { return multiply_add(l, s[0], s[1], s[2]); }, kI16, kI16, kU),
    u3(Op::v_sad_u32, [](L& l, S s) { return l.ir.CreateAdd(l.ir.CreateSub(pick<CmpInst::ICMP_UGT>(l, s), pick<CmpInst::ICMP_ULT>(l, s)), s[2]); }),

    // Minimum, maximum, median.
    u2(Op::v_min_u32, pick<CmpInst::ICMP_ULT>), u2(Op::v_max_u32, pick<CmpInst::ICMP_UGT>),
    u2(Op::v_min_i32, pick<CmpInst::ICMP_SLT>), u2(Op::v_max_i32, pick<CmpInst::ICMP_SGT>),
    u3(Op::v_min3_u32, pick3<CmpInst::ICMP_ULT>), u3(Op::v_max3_u32, pick3<CmpInst::ICMP_UGT>),
    u3(Op::v_min3_i32, pick3<CmpInst::ICMP_SLT>), u3(Op::v_max3_i32, pick3<CmpInst::ICMP_SGT>),
    u3(Op::v_minmax_u32, (pick_twice<CmpInst::ICMP_ULT, CmpInst::ICMP_UGT>)), u3(Op::v_maxmin_u32, (pick_twice<CmpInst::ICMP_UGT, CmpInst::ICMP_ULT>)),
    u3(Op::v_minmax_i32, (pick_twice<CmpInst::ICMP_SLT, CmpInst::ICMP_SGT>)), u3(Op::v_maxmin_i32, (pick_twice<CmpInst::ICMP_SGT, CmpInst::ICMP_SLT>)),
    u3(Op::v_med3_u32, median<CmpInst::ICMP_ULT, CmpInst::ICMP_UGT>),
    u3(Op::v_med3_i32, median<CmpInst::ICMP_SLT, CmpInst::ICMP_SGT>),

    // Single precision.
    by_rule(f2(Op::v_add_f32, fadd)), by_rule(f2(Op::v_sub_f32, fsub)), by_rule(f2(Op::v_subrev_f32, fsubrev)),
    by_rule(f2(Op::v_mul_f32, fmul)),
    by_rule(f3(Op::v_fma_f32, fma)), by_rule(f3(Op::v_fmaak_f32, fma)), by_rule(f3(Op::v_fmamk_f32, fma)),
    by_rule(arith(make(Op::v_fmac_f32, kF, fma, kF, kF, Type::kOldF32))),
    by_rule(f3(Op::v_mad_f32, mad)), by_rule(f3(Op::v_madak_f32, mad)), by_rule(f3(Op::v_madmk_f32, mad)),
    by_rule(arith(make(Op::v_mac_f32, kF, mad, kF, kF, Type::kOldF32))),
    f2(Op::v_min_f32, number2<llvm::Intrinsic::minimum>), f2(Op::v_max_f32, number2<llvm::Intrinsic::maximum>),
    f3(Op::v_min3_f32, (number3<llvm::Intrinsic::minimum, llvm::Intrinsic::minimum>)),
    f3(Op::v_max3_f32, (number3<llvm::Intrinsic::maximum, llvm::Intrinsic::maximum>)),
    only_numbers(make(Op::v_med3_f32, kF, median_float, kF, kF, kF)),
    f3(Op::v_minmax_f32, (number3<llvm::Intrinsic::minimum, llvm::Intrinsic::maximum>)),
    f3(Op::v_maxmin_f32, (number3<llvm::Intrinsic::maximum, llvm::Intrinsic::minimum>)),
    by_rule(f1(Op::v_floor_f32, unary<llvm::Intrinsic::floor>)), by_rule(f1(Op::v_ceil_f32, unary<llvm::Intrinsic::ceil>)),
    by_rule(f1(Op::v_trunc_f32, unary<llvm::Intrinsic::trunc>)), by_rule(f1(Op::v_rndne_f32, unary<llvm::Intrinsic::roundeven>)),
    by_rule(f1(Op::v_fract_f32, fract)), by_rule(f1(Op::v_rcp_f32, rcp)), by_rule(f1(Op::v_rcp_iflag_f32, rcp)),
    by_rule(f1(Op::v_sqrt_f32, sqrt)), f1(Op::v_rsq_f32, rsq), f1(Op::v_exp_f32, exp2_f32), f1(Op::v_log_f32, log2_f32),
    f1(Op::v_sin_f32, sine_f32), f1(Op::v_cos_f32, cosine_f32),
    only_numbers(make(Op::v_div_scale_f32, kF, div_scale<kSingle>, kF, kF, kF)).mask_result(),
    by_rule(only_numbers(arith(make(Op::v_div_fmas_f32, kF, div_fmas, kF, kF, kF, Type::kMask)))),
    only_numbers(make(Op::v_div_fixup_f32, kF, div_fixup<kSingle>, kF, kF, kF)),
    arith(make(Op::v_ldexp_f32, kF, ldexp, kF, kU)),

    arith(make(Op::v_pk_add_f32, kF2, fadd, kF2, kF2)), arith(make(Op::v_pk_mul_f32, kF2, fmul, kF2, kF2)),
    arith(make(Op::v_pk_fma_f32, kF2, fma, kF2, kF2, kF2)),

    // Lanes of others: source_bits() has moved them.
    u1(Op::ds_swizzle_b32, [](L&, S s) { return s[0]; }),
    u1(Op::v_permlane16_b32, [](L&, S s) { return s[0]; }), u1(Op::v_permlanex16_b32, [](L&, S s) { return s[0]; }),

    // Double precision.
    d2(Op::v_add_f64, fadd), d2(Op::v_mul_f64, fmul),
    arith(make(Op::v_fma_f64, kF64, fma, kF64, kF64, kF64)),
    arith(make(Op::v_fmac_f64, kF64, fma, kF64, kF64, Type::kOldF64)),
    d2(Op::v_min_f64, number2<llvm::Intrinsic::minimum>), d2(Op::v_max_f64, number2<llvm::Intrinsic::maximum>),
    d1(Op::v_floor_f64, unary<llvm::Intrinsic::floor>), d1(Op::v_ceil_f64, unary<llvm::Intrinsic::ceil>),
    d1(Op::v_trunc_f64, unary<llvm::Intrinsic::trunc>), d1(Op::v_rndne_f64, unary<llvm::Intrinsic::roundeven>),

    d1(Op::v_rcp_f64, rcp_double), d1(Op::v_rsq_f64, rsq_double), d1(Op::v_sqrt_f64, unary<llvm::Intrinsic::sqrt>),
    d1(Op::v_fract_f64, fract), only_numbers(arith(make(Op::v_ldexp_f64, kF64, ldexp_double, kF64, kU))),
    only_numbers(make(Op::v_div_scale_f64, kF64, div_scale<kDouble>, kF64, kF64, kF64)).mask_result(),
    only_numbers(arith(make(Op::v_div_fmas_f64, kF64, div_fmas, kF64, kF64, kF64, Type::kMask))),
    only_numbers(make(Op::v_div_fixup_f64, kF64, div_fixup<kDouble>, kF64, kF64, kF64)),

    // Mantissas and exponents.
    f1(Op::v_frexp_mant_f32, mantissa<kSingle>), make(Op::v_frexp_exp_i32_f32, kU, exponent<kSingle>, kF),
    d1(Op::v_frexp_mant_f64, mantissa<kDouble>), make(Op::v_frexp_exp_i32_f64, kU, exponent<kDouble>, kF64),

    // Conversions.
    make(Op::v_cvt_f32_i32, kF, [](L& l, S s) { return l.ir.CreateSIToFP(s[0], l.f32()); }, kU),
    make(Op::v_cvt_f32_u32, kF, [](L& l, S s) { return l.ir.CreateUIToFP(s[0], l.f32()); }, kU),
    make(Op::v_cvt_i32_f32, kU, to_integer<llvm::Intrinsic::fptosi_sat>, kF),
    make(Op::v_cvt_u32_f32, kU, to_integer<llvm::Intrinsic::fptoui_sat>, kF),
    make(Op::v_cvt_flr_i32_f32, kU, floor_to_integer, kF), make(Op::v_cvt_rpi_i32_f32, kU, nearest_to_integer, kF),
    make(Op::v_cvt_f64_i32, kF64, [](L& l, S s) { return l.ir.CreateSIToFP(s[0], l.f64()); }, kU),
    make(Op::v_cvt_f64_u32, kF64, [](L& l, S s) { return l.ir.CreateUIToFP(s[0], l.f64()); }, kU),
    make(Op::v_cvt_i32_f64, kU, to_integer<llvm::Intrinsic::fptosi_sat>, kF64),
    make(Op::v_cvt_u32_f64, kU, to_integer<llvm::Intrinsic::fptoui_sat>, kF64),
    arith(make(Op::v_cvt_f32_f64, kF, [](L& l, S s) { return l.ir.CreateFPTrunc(s[0], l.f32()); }, kF64)),
    arith(make(Op::v_cvt_f64_f32, kF64, [](L& l, S s) { return l.ir.CreateFPExt(s[0], l.f64()); }, kF)),
    arith(make(Op::v_cvt_f32_f16, kF, [](L& l, S s) { return l.ir.CreateFPExt(s[0], l.f32()); }, kH)),
    arith(make(Op::v_cvt_f16_f32, kH, [](L& l, S s) { return l.ir.CreateFPTrunc(s[0], l.f16()); }, kF)),
    make(Op::v_cvt_f16_u16, kH, [](L& l, S s) { return l.ir.CreateFPTrunc(l.ir.CreateUIToFP(s[0], l.f32()), l.f16()); }, kU16),
    make(Op::v_cvt_f16_i16, kH, [](L& l, S s) { return l.ir.CreateFPTrunc(l.ir.CreateSIToFP(s[0], l.f32()), l.f16()); }, kI16),
    u2(Op::v_cvt_pk_u16_u32, pack_limited<false>), u2(Op::v_cvt_pk_i16_i32, pack_limited<true>),
    make(Op::v_cvt_i32_i16, kU, [](L&, S s) { return s[0]; }, kI16), make(Op::v_cvt_u32_u16, kU, [](L&, S s) { return s[0]; }, kU16),
    only_numbers(make(Op::v_cvt_pkrtz_f16_f32, kU, pack_toward_zero, kF, kF)),
    make(Op::v_cvt_f32_ubyte0, kF, from_byte<0>, kU), make(Op::v_cvt_f32_ubyte1, kF, from_byte<1>, kU),
    make(Op::v_cvt_f32_ubyte2, kF, from_byte<2>, kU), make(Op::v_cvt_f32_ubyte3, kF, from_byte<3>, kU),

    WT_INT_COMPARES(i32, kU, S), WT_INT_COMPARES(u32, kU, U),
    WT_INT_COMPARES(i64, kU64, S), WT_INT_COMPARES(u64, kU64, U),
    WT_FLOAT_COMPARES(f32, kF), WT_FLOAT_COMPARES(f64, kF64),
    class_row(Op::v_cmp_class_f32, class_of<kSingle>, kU, false), class_row(Op::v_cmpx_class_f32, class_of<kSingle>, kU, true),
    class_row(Op::v_cmp_class_f64, class_of<kDouble>, kU64, false), class_row(Op::v_cmpx_class_f64, class_of<kDouble>, kU64, true),
};
// clang-format on

constexpr auto kTable = sorted(kRows);

// --- Operands.

bool fits(const Operand& operand, Type type) {
  if (type == Type::kMask)
    return operand.is(OperandKind::kNone) ||
           (operand.is(OperandKind::kScalar) && operand.index + 1 < isa::slot::kNull);
  if (is_old(type)) return operand.is(OperandKind::kNone) || operand.is(OperandKind::kVgpr);
  // Wide operands and those of packed operations have no parts.
  if ((is_wide(type) || has_halves(type)) && operand.sel != isa::Sel::kDword) return false;
  // Not EXEC: a segment's handlers see less of it when they take over (segment_emitter.h).
  if (operand.is(OperandKind::kScalar))
    return operand.index + (is_wide(type) ? 1 : 0) < isa::slot::kNull ||
           (operand.index > isa::slot::kExecHi &&
            operand.index + (is_wide(type) ? 1 : 0) < isa::slot::kScc);
  return operand.is(OperandKind::kVgpr) || operand.is(OperandKind::kImm);
}

// Values of other lanes come from a vector register, and are of one operand.
bool has_fitting_lanes(const isa::Inst& inst, const VectorOp& op) {
  switch (inst.op) {
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32:
      if (!inst.src[1].is(OperandKind::kImm) || !inst.src[2].is(OperandKind::kImm)) return false;
      break;
    case Op::ds_swizzle_b32: break;
    default:
      if (inst.dpp == isa::Dpp::kNone) return true;
  }
  return op.source[0] != Type::kMask && op.source[0] != Type::kF32x2 && !is_old(op.source[0]) &&
         source_operand(inst, 0).is(OperandKind::kVgpr);
}

}  // namespace

const VectorOp* find_vector_op(Op op) {
  const auto find = [&](std::span<const VectorOp> table) -> const VectorOp* {
    const auto at =
        std::lower_bound(table.begin(), table.end(), op,
                         [](const VectorOp& row, Op wanted) { return row.op < wanted; });
    return at != table.end() && at->op == op ? &*at : nullptr;
  };
  const VectorOp* found = find(kTable);
  return found != nullptr ? found : find(short_vector_ops());
}

const Operand& source_operand(const isa::Inst& inst, size_t k) {
  const bool is_address = inst.family == isa::Family::kDs && !inst.vaddr.is(OperandKind::kNone);
  return is_address && k == 0 ? inst.vaddr : inst.src[k];
}

const VectorOp* compiled_vector_op(const isa::Inst& inst) {
  const VectorOp* op = find_vector_op(inst.op);
  if (op == nullptr) return nullptr;
  // Of floats clamp means [0, 1]; of integers it is another operation. Output modifiers are without
  // effect where denormals are kept, and only there compiled code runs.
  if (inst.clamp && !is_float(op->result)) return nullptr;
  if (!has_fitting_lanes(inst, *op)) return nullptr;
  if (op->result != Type::kNone &&
      (!inst.dst.is(OperandKind::kVgpr) ||
       ((is_wide(op->result) || has_halves(op->result)) && inst.dst.sel != isa::Sel::kDword)))
    return nullptr;
  for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
    if (op->source[k] == Type::kNone) continue;
    const Operand& operand = source_operand(inst, k);
    if (!fits(operand, op->source[k])) return nullptr;
    if (op->halves_in_place && (operand.neg || operand.abs)) return nullptr;
  }
  if (op->mask == MaskResult::kNone) return op;
  for (const Operand* operand : {&inst.dst, &inst.dst2})
    if (operand->is(OperandKind::kScalar) && operand->index != isa::slot::kNull &&
        operand->index + 1 >= isa::slot::kNull)
      return nullptr;
  return op;
}

}  // namespace wavetap::jit
