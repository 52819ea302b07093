#include "jit/native/scalar_ops.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;
using llvm::CmpInst;
using llvm::Value;
using Ir = llvm::IRBuilder<>;
using Scc = ScalarOp::Scc;
using Form = ScalarOp::Form;

constexpr ScalarOp row(Op op, ScalarOp::Build build, uint8_t result, uint8_t a, uint8_t b,
                       Scc scc) {
  ScalarOp made;
  made.op = op;
  made.build = build;
  made.result_bits = result;
  made.source_bits[0] = a;
  made.source_bits[1] = b;
  made.scc = scc;
  return made;
}
constexpr ScalarOp reads_scc(ScalarOp made) {
  made.reads_scc = true;
  return made;
}
constexpr ScalarOp constant(Op op, ScalarOp::Build build, uint8_t result, Scc scc) {
  ScalarOp made = row(op, build, result, 32, 32, scc);
  made.form = Form::kConstant;
  return made;
}
constexpr ScalarOp exec(Op op, ScalarOp::Build build, uint8_t bits, Form form) {
  ScalarOp made = row(op, build, bits, bits, bits, Scc::kNonZero);
  made.form = form;
  return made;
}

// --- Operations on either width.

Value* count(Ir& ir, Value* value, Value* by) {
  const unsigned bits = value->getType()->getIntegerBitWidth();
  Value* wide = ir.CreateZExtOrTrunc(by, value->getType());
  return ir.CreateAnd(wide, llvm::ConstantInt::get(value->getType(), bits - 1));
}
Value* op_and(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateAnd(a, b); }
Value* op_or(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateOr(a, b); }
Value* op_xor(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateXor(a, b); }
Value* op_andn2(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateAnd(a, ir.CreateNot(b)); }
Value* op_orn2(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateOr(a, ir.CreateNot(b)); }
Value* op_andn1(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateAnd(ir.CreateNot(a), b); }
Value* op_orn1(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateOr(ir.CreateNot(a), b); }
Value* op_nand(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateNot(ir.CreateAnd(a, b)); }
Value* op_nor(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateNot(ir.CreateOr(a, b)); }
Value* op_xnor(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateNot(ir.CreateXor(a, b)); }
Value* op_lshl(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateShl(a, count(ir, a, b)); }
Value* op_lshr(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateLShr(a, count(ir, a, b)); }
Value* op_ashr(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateAShr(a, count(ir, a, b)); }
Value* op_mov(Ir&, Value* a, Value*, Value*&) { return a; }
Value* op_second(Ir&, Value*, Value* b, Value*&) { return b; }
Value* op_not(Ir& ir, Value* a, Value*, Value*&) { return ir.CreateNot(a); }
Value* op_cmovk(Ir& ir, Value* a, Value* b, Value*& scc) { return ir.CreateSelect(scc, b, a); }
Value* op_cselect(Ir& ir, Value* a, Value* b, Value*& scc) { return ir.CreateSelect(scc, a, b); }

Value* op_add_u(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* sum = ir.CreateAdd(a, b);
  scc = ir.CreateICmpULT(sum, a);
  return sum;
}
Value* op_sub_u(Ir& ir, Value* a, Value* b, Value*& scc) {
  scc = ir.CreateICmpUGT(b, a);
  return ir.CreateSub(a, b);
}
Value* op_add_i(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* sum = ir.CreateAdd(a, b);
  Value* overflow = ir.CreateAnd(ir.CreateNot(ir.CreateXor(a, b)), ir.CreateXor(a, sum));
  scc = ir.CreateICmpSLT(overflow, ir.getInt32(0));
  return sum;
}
Value* op_sub_i(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* difference = ir.CreateSub(a, b);
  Value* overflow = ir.CreateAnd(ir.CreateXor(a, b), ir.CreateXor(a, difference));
  scc = ir.CreateICmpSLT(overflow, ir.getInt32(0));
  return difference;
}
Value* wide(Ir& ir, Value* value) { return ir.CreateZExt(value, ir.getInt64Ty()); }
Value* low(Ir& ir, Value* value) { return ir.CreateTrunc(value, ir.getInt32Ty()); }
Value* op_addc(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* sum = ir.CreateAdd(ir.CreateAdd(wide(ir, a), wide(ir, b)), wide(ir, scc));
  scc = ir.CreateICmpNE(ir.CreateLShr(sum, 32), ir.getInt64(0));
  return low(ir, sum);
}
Value* op_subb(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* taken = ir.CreateAdd(wide(ir, b), wide(ir, scc));
  Value* from = wide(ir, a);
  scc = ir.CreateICmpUGT(taken, from);
  return low(ir, ir.CreateSub(from, taken));
}
template <CmpInst::Predicate kTakesFirst>
Value* op_pick(Ir& ir, Value* a, Value* b, Value*& scc) {
  scc = ir.CreateICmp(kTakesFirst, a, b);
  return ir.CreateSelect(scc, a, b);
}
template <CmpInst::Predicate kPredicate>
Value* op_compare(Ir& ir, Value* a, Value* b, Value*& scc) {
  scc = ir.CreateICmp(kPredicate, a, b);
  return nullptr;
}
template <bool kBit>
Value* op_bit_compare(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* bit = ir.CreateTrunc(ir.CreateLShr(a, count(ir, a, b)), ir.getInt1Ty());
  scc = kBit ? bit : ir.CreateNot(bit);
  return nullptr;
}
Value* op_mul(Ir& ir, Value* a, Value* b, Value*&) { return ir.CreateMul(a, b); }
Value* op_mul_hi_u(Ir& ir, Value* a, Value* b, Value*&) {
  return low(ir, ir.CreateLShr(ir.CreateMul(wide(ir, a), wide(ir, b)), 32));
}
Value* op_mul_hi_i(Ir& ir, Value* a, Value* b, Value*&) {
  Value* product =
      ir.CreateMul(ir.CreateSExt(a, ir.getInt64Ty()), ir.CreateSExt(b, ir.getInt64Ty()));
  return low(ir, ir.CreateLShr(product, 32));
}
template <int kShift>
Value* op_lshl_add(Ir& ir, Value* a, Value* b, Value*& scc) {
  Value* sum = ir.CreateAdd(ir.CreateShl(wide(ir, a), kShift), wide(ir, b));
  scc = ir.CreateICmpNE(ir.CreateLShr(sum, 32), ir.getInt64(0));
  return low(ir, sum);
}
// Width 0 gives 0; a field of the whole width and more is all of it.
Value* op_bfe_u(Ir& ir, Value* a, Value* b, Value*&) {
  llvm::Type* type = a->getType();
  const unsigned bits = type->getIntegerBitWidth();
  Value* width = ir.CreateAnd(ir.CreateLShr(b, 16), ir.getInt32(0x7f));
  Value* one = llvm::ConstantInt::get(type, 1);
  Value* mask = ir.CreateSub(ir.CreateShl(one, count(ir, a, width)), one);
  Value* is_cut = ir.CreateICmpULT(width, ir.getInt32(bits));
  mask = ir.CreateSelect(is_cut, mask, llvm::Constant::getAllOnesValue(type));
  return ir.CreateAnd(ir.CreateLShr(a, count(ir, a, b)), mask);
}
// The same, with the sign of its highest bit.
Value* op_bfe_i(Ir& ir, Value* a, Value* b, Value*&) {
  llvm::Type* type = a->getType();
  const unsigned bits = type->getIntegerBitWidth();
  Value* width = ir.CreateAnd(ir.CreateLShr(b, 16), ir.getInt32(0x7f));
  Value* is_cut = ir.CreateICmpULT(width, ir.getInt32(bits));
  Value* above = ir.CreateSelect(is_cut, ir.CreateSub(ir.getInt32(bits), width), ir.getInt32(0));
  above = count(ir, a, above);
  Value* shifted = ir.CreateAShr(a, count(ir, a, b));
  Value* field = ir.CreateAShr(ir.CreateShl(shifted, above), above);
  Value* none = llvm::Constant::getNullValue(type);
  return ir.CreateSelect(ir.CreateICmpEQ(width, ir.getInt32(0)), none, field);
}
Value* op_bfm(Ir& ir, Value* a, Value* b, Value*&) {
  Value* one = ir.getInt32(1);
  return ir.CreateShl(ir.CreateSub(ir.CreateShl(one, count(ir, one, a)), one), count(ir, one, b));
}
template <bool kHighA, bool kHighB>
Value* op_pack(Ir& ir, Value* a, Value* b, Value*&) {
  a = kHighA ? ir.CreateLShr(a, 16) : ir.CreateAnd(a, ir.getInt32(0xffff));
  return ir.CreateOr(a, kHighB ? ir.CreateAnd(b, ir.getInt32(0xffff0000)) : ir.CreateShl(b, 16));
}
template <unsigned kBits>
Value* op_sext(Ir& ir, Value* a, Value*, Value*&) {
  return ir.CreateSExt(ir.CreateTrunc(a, ir.getIntNTy(kBits)), ir.getInt32Ty());
}
Value* op_abs(Ir& ir, Value* a, Value*, Value*&) {
  return ir.CreateSelect(ir.CreateICmpSLT(a, ir.getInt32(0)), ir.CreateNeg(a), a);
}
Value* op_popcount(Ir& ir, Value* a, Value*, Value*&) {
  return ir.CreateZExtOrTrunc(ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a), ir.getInt32Ty());
}
template <llvm::Intrinsic::ID kCount>
Value* op_first(Ir& ir, Value* a, Value*, Value*&) {
  Value* found = ir.CreateBinaryIntrinsic(kCount, a, ir.getFalse());
  Value* none = ir.CreateICmpEQ(a, llvm::Constant::getNullValue(a->getType()));
  return ir.CreateSelect(none, ir.getInt32(~0u), ir.CreateZExtOrTrunc(found, ir.getInt32Ty()));
}
Value* op_brev(Ir& ir, Value* a, Value*, Value*&) {
  return ir.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a);
}

// clang-format off
#define WT_SCALAR_BOTH(name, build, scc)                            \
  row(Op::s_##name##_b32, build, 32, 32, 32, scc), row(Op::s_##name##_b64, build, 64, 64, 64, scc)
#define WT_EXEC(name, build)                                                  \
  exec(Op::s_##name##_saveexec_b32, build, 32, Form::kSaveExec),              \
  exec(Op::s_##name##_saveexec_b64, build, 64, Form::kSaveExec)
#define WT_SCALAR_COMPARE(name, predicate)                                                     \
  row(Op::s_cmp_##name, op_compare<CmpInst::predicate>, 0, 32, 32, Scc::kBuilt),               \
  constant(Op::s_cmpk_##name, op_compare<CmpInst::predicate>, 0, Scc::kBuilt)

constexpr ScalarOp kScalarRows[] = {
    row(Op::s_add_u32, op_add_u, 32, 32, 32, Scc::kBuilt), row(Op::s_sub_u32, op_sub_u, 32, 32, 32, Scc::kBuilt),
    row(Op::s_add_i32, op_add_i, 32, 32, 32, Scc::kBuilt), row(Op::s_sub_i32, op_sub_i, 32, 32, 32, Scc::kBuilt),
    reads_scc(row(Op::s_addc_u32, op_addc, 32, 32, 32, Scc::kBuilt)),
    reads_scc(row(Op::s_subb_u32, op_subb, 32, 32, 32, Scc::kBuilt)),
    row(Op::s_min_i32, op_pick<CmpInst::ICMP_SLT>, 32, 32, 32, Scc::kBuilt),
    row(Op::s_min_u32, op_pick<CmpInst::ICMP_ULT>, 32, 32, 32, Scc::kBuilt),
    row(Op::s_max_i32, op_pick<CmpInst::ICMP_SGT>, 32, 32, 32, Scc::kBuilt),
    row(Op::s_max_u32, op_pick<CmpInst::ICMP_UGT>, 32, 32, 32, Scc::kBuilt),
    reads_scc(row(Op::s_cselect_b32, op_cselect, 32, 32, 32, Scc::kKept)),
    reads_scc(row(Op::s_cselect_b64, op_cselect, 64, 64, 64, Scc::kKept)),
    WT_SCALAR_BOTH(and, op_and, Scc::kNonZero), WT_SCALAR_BOTH(or, op_or, Scc::kNonZero), WT_SCALAR_BOTH(xor, op_xor, Scc::kNonZero),
    WT_SCALAR_BOTH(andn2, op_andn2, Scc::kNonZero), WT_SCALAR_BOTH(orn2, op_orn2, Scc::kNonZero),
    WT_SCALAR_BOTH(nand, op_nand, Scc::kNonZero), WT_SCALAR_BOTH(nor, op_nor, Scc::kNonZero), WT_SCALAR_BOTH(xnor, op_xnor, Scc::kNonZero),
    row(Op::s_lshl_b32, op_lshl, 32, 32, 32, Scc::kNonZero), row(Op::s_lshl_b64, op_lshl, 64, 64, 32, Scc::kNonZero),
    row(Op::s_lshr_b32, op_lshr, 32, 32, 32, Scc::kNonZero), row(Op::s_lshr_b64, op_lshr, 64, 64, 32, Scc::kNonZero),
    row(Op::s_ashr_i32, op_ashr, 32, 32, 32, Scc::kNonZero), row(Op::s_ashr_i64, op_ashr, 64, 64, 32, Scc::kNonZero),
    row(Op::s_bfe_u32, op_bfe_u, 32, 32, 32, Scc::kNonZero), row(Op::s_bfe_u64, op_bfe_u, 64, 64, 32, Scc::kNonZero),
    row(Op::s_bfe_i32, op_bfe_i, 32, 32, 32, Scc::kNonZero), row(Op::s_bfe_i64, op_bfe_i, 64, 64, 32, Scc::kNonZero),
    row(Op::s_bfm_b32, op_bfm, 32, 32, 32, Scc::kKept),
    row(Op::s_mul_i32, op_mul, 32, 32, 32, Scc::kKept),
    row(Op::s_mul_hi_u32, op_mul_hi_u, 32, 32, 32, Scc::kKept), row(Op::s_mul_hi_i32, op_mul_hi_i, 32, 32, 32, Scc::kKept),
    row(Op::s_lshl1_add_u32, op_lshl_add<1>, 32, 32, 32, Scc::kBuilt), row(Op::s_lshl2_add_u32, op_lshl_add<2>, 32, 32, 32, Scc::kBuilt),
    row(Op::s_lshl3_add_u32, op_lshl_add<3>, 32, 32, 32, Scc::kBuilt), row(Op::s_lshl4_add_u32, op_lshl_add<4>, 32, 32, 32, Scc::kBuilt),
    row(Op::s_pack_ll_b32_b16, op_pack<false, false>, 32, 32, 32, Scc::kKept), row(Op::s_pack_lh_b32_b16, op_pack<false, true>, 32, 32, 32, Scc::kKept),
    row(Op::s_pack_hl_b32_b16, op_pack<true, false>, 32, 32, 32, Scc::kKept), row(Op::s_pack_hh_b32_b16, op_pack<true, true>, 32, 32, 32, Scc::kKept),

    row(Op::s_mov_b32, op_mov, 32, 32, 0, Scc::kKept), row(Op::s_mov_b64, op_mov, 64, 64, 0, Scc::kKept),
    row(Op::s_not_b32, op_not, 32, 32, 0, Scc::kNonZero), row(Op::s_not_b64, op_not, 64, 64, 0, Scc::kNonZero),
    row(Op::s_brev_b32, op_brev, 32, 32, 0, Scc::kKept), row(Op::s_brev_b64, op_brev, 64, 64, 0, Scc::kKept),
    row(Op::s_bcnt1_i32_b32, op_popcount, 32, 32, 0, Scc::kNonZero), row(Op::s_bcnt1_i32_b64, op_popcount, 32, 64, 0, Scc::kNonZero),
    row(Op::s_ff1_i32_b32, op_first<llvm::Intrinsic::cttz>, 32, 32, 0, Scc::kKept),
    row(Op::s_ff1_i32_b64, op_first<llvm::Intrinsic::cttz>, 32, 64, 0, Scc::kKept),
    row(Op::s_flbit_i32_b32, op_first<llvm::Intrinsic::ctlz>, 32, 32, 0, Scc::kKept),
    row(Op::s_flbit_i32_b64, op_first<llvm::Intrinsic::ctlz>, 32, 64, 0, Scc::kKept),
    row(Op::s_sext_i32_i8, op_sext<8>, 32, 32, 0, Scc::kKept), row(Op::s_sext_i32_i16, op_sext<16>, 32, 32, 0, Scc::kKept),
    row(Op::s_abs_i32, op_abs, 32, 32, 0, Scc::kNonZero),

    constant(Op::s_movk_i32, op_second, 32, Scc::kKept), constant(Op::s_addk_i32, op_add_i, 32, Scc::kBuilt),
    reads_scc(constant(Op::s_cmovk_i32, op_cmovk, 32, Scc::kKept)),
    constant(Op::s_mulk_i32, op_mul, 32, Scc::kKept),
    WT_SCALAR_COMPARE(eq_i32, ICMP_EQ), WT_SCALAR_COMPARE(eq_u32, ICMP_EQ), WT_SCALAR_COMPARE(lg_i32, ICMP_NE), WT_SCALAR_COMPARE(lg_u32, ICMP_NE),
    WT_SCALAR_COMPARE(gt_i32, ICMP_SGT), WT_SCALAR_COMPARE(ge_i32, ICMP_SGE), WT_SCALAR_COMPARE(lt_i32, ICMP_SLT), WT_SCALAR_COMPARE(le_i32, ICMP_SLE),
    WT_SCALAR_COMPARE(gt_u32, ICMP_UGT), WT_SCALAR_COMPARE(ge_u32, ICMP_UGE), WT_SCALAR_COMPARE(lt_u32, ICMP_ULT), WT_SCALAR_COMPARE(le_u32, ICMP_ULE),
    row(Op::s_cmp_eq_u64, op_compare<CmpInst::ICMP_EQ>, 0, 64, 64, Scc::kBuilt),
    row(Op::s_cmp_lg_u64, op_compare<CmpInst::ICMP_NE>, 0, 64, 64, Scc::kBuilt),
    row(Op::s_bitcmp0_b32, op_bit_compare<false>, 0, 32, 32, Scc::kBuilt), row(Op::s_bitcmp1_b32, op_bit_compare<true>, 0, 32, 32, Scc::kBuilt),
    row(Op::s_bitcmp0_b64, op_bit_compare<false>, 0, 64, 32, Scc::kBuilt), row(Op::s_bitcmp1_b64, op_bit_compare<true>, 0, 64, 32, Scc::kBuilt),

    WT_EXEC(and, op_and), WT_EXEC(or, op_or), WT_EXEC(xor, op_xor), WT_EXEC(nand, op_nand), WT_EXEC(nor, op_nor),
    WT_EXEC(xnor, op_xnor), WT_EXEC(andn1, op_andn1), WT_EXEC(andn2, op_andn2), WT_EXEC(orn1, op_orn1), WT_EXEC(orn2, op_orn2),
    exec(Op::s_andn1_wrexec_b32, op_andn1, 32, Form::kWriteExec), exec(Op::s_andn1_wrexec_b64, op_andn1, 64, Form::kWriteExec),
    exec(Op::s_andn2_wrexec_b32, op_andn2, 32, Form::kWriteExec), exec(Op::s_andn2_wrexec_b64, op_andn2, 64, Form::kWriteExec),
};
// clang-format on

constexpr auto kScalarTable = [] {
  std::array<ScalarOp, std::size(kScalarRows)> table;
  std::copy(std::begin(kScalarRows), std::end(kScalarRows), table.begin());
  std::sort(table.begin(), table.end(),
            [](const ScalarOp& a, const ScalarOp& b) { return a.op < b.op; });
  return table;
}();

// Registers that are plain storage. What is computed when read, and null, are left to handlers.
bool is_plain(const Operand& operand, uint8_t bits) {
  if (operand.is(OperandKind::kImm)) return true;
  if (!operand.is(OperandKind::kScalar)) return false;
  const int last = operand.index + (bits == 64 ? 1 : 0);
  return last < isa::slot::kScc && operand.index != isa::slot::kNull && last != isa::slot::kNull;
}

}  // namespace

const ScalarOp* compiled_scalar_op(const isa::Inst& inst) {
  const auto at = std::lower_bound(kScalarTable.begin(), kScalarTable.end(), inst.op,
                                   [](const ScalarOp& row, Op op) { return row.op < op; });
  if (at == kScalarTable.end() || at->op != inst.op) return nullptr;
  const ScalarOp& op = *at;
  if (op.result_bits != 0 &&
      (!inst.dst.is(OperandKind::kScalar) || !is_plain(inst.dst, op.result_bits)))
    return nullptr;
  if (op.form == Form::kConstant) {
    const Operand& source = inst.src[0].is(OperandKind::kScalar) ? inst.src[0] : inst.dst;
    return is_plain(source, 32) && source.is(OperandKind::kScalar) ? &op : nullptr;
  }
  const int sources = op.form == Form::kSources ? 2 : 1;
  for (int k = 0; k < sources; ++k)
    if (op.source_bits[k] != 0 && !is_plain(inst.src[k], op.source_bits[k])) return nullptr;
  return &op;
}

}  // namespace wavetap::jit
