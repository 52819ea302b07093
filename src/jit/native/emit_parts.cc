#include "jit/native/emit_parts.h"

#include <vector>

#include "jit/native/scalar_ops.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/MDBuilder.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;
using llvm::Value;
namespace slot = isa::slot;

namespace {

// SOPK compares without sign take their constant so, too.
bool has_unsigned_constant(Op op) {
  switch (op) {
    case Op::s_cmpk_eq_u32:
    case Op::s_cmpk_lg_u32:
    case Op::s_cmpk_gt_u32:
    case Op::s_cmpk_ge_u32:
    case Op::s_cmpk_lt_u32:
    case Op::s_cmpk_le_u32: return true;
    default: return false;
  }
}

}  // namespace

void emit_scalar(llvm::IRBuilder<>& ir, ScalarFile& scalars, const Inst& inst) {
  using Form = ScalarOp::Form;
  const ScalarOp& op = *compiled_scalar_op(inst);
  const bool on_exec = op.form == Form::kSaveExec || op.form == Form::kWriteExec;
  Value* a = nullptr;
  Value* b = nullptr;
  if (op.form == Form::kConstant) {
    const bool has_source = inst.src[0].is(isa::OperandKind::kScalar);
    if (inst.op != Op::s_movk_i32) a = scalars.operand(has_source ? inst.src[0] : inst.dst, 32);
    const auto constant = static_cast<uint32_t>(inst.imm16);
    b = ir.getInt32(has_unsigned_constant(inst.op) ? constant & 0xffff : constant);
  } else {
    a = scalars.operand(inst.src[0], op.source_bits[0]);
    if (on_exec)
      b = op.result_bits == 64 ? scalars.get64(slot::kExecLo) : scalars.get32(slot::kExecLo);
    else if (op.source_bits[1] != 0) b = scalars.operand(inst.src[1], op.source_bits[1]);
  }
  Value* scc = op.reads_scc ? scalars.scc() : nullptr;
  Value* result = op.build(ir, a, b, scc);
  const auto set = [&](uint32_t at, Value* value) {
    if (op.result_bits == 64) scalars.set64(at, value);
    else scalars.set32(at, value);
  };
  if (result != nullptr) {
    set(inst.dst.index, op.form == Form::kSaveExec ? b : result);
    if (on_exec) set(slot::kExecLo, result);
  }
  if (op.scc == ScalarOp::Scc::kBuilt) scalars.set_scc(scc);
  if (op.scc == ScalarOp::Scc::kNonZero)
    scalars.set_scc(ir.CreateICmpNE(result, llvm::Constant::getNullValue(result->getType())));
}

void emit_handler_call(llvm::IRBuilder<>& ir, Value* wave, Value* handlers, Value* first_inst,
                       Value* index, int32_t first) {
  Value* handler = ir.CreateLoad(ir.getPtrTy(), ir.CreateGEP(ir.getPtrTy(), handlers, index));
  Value* distance = ir.CreateSub(index, ir.getInt64(static_cast<uint64_t>(first)));
  Value* bytes = ir.CreateMul(distance, ir.getInt64(sizeof(Inst)));
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getPtrTy()}, false);
  ir.CreateCall(type, handler, {wave, ir.CreateGEP(ir.getInt8Ty(), first_inst, bytes)})
      ->setDoesNotThrow();
}

// Hosts without registers for masks compare. LLVM's code for a cast takes bits one by one on arm64.
Value* emit_lane_mask(llvm::IRBuilder<>& ir, Value* bits) {
  const unsigned lanes = bits->getType()->getIntegerBitWidth();
#if defined(__aarch64__)
  if (lanes <= 32) {
    std::vector<uint32_t> numbers;
    for (unsigned i = 0; i < lanes; ++i) numbers.push_back(uint32_t{1} << i);
    Value* own = llvm::ConstantDataVector::get(ir.getContext(), numbers);
    Value* all = ir.CreateVectorSplat(lanes, ir.CreateZExt(bits, ir.getInt32Ty()));
    return ir.CreateICmpNE(ir.CreateAnd(all, own), llvm::Constant::getNullValue(own->getType()));
  }
  Value* low = emit_lane_mask(ir, ir.CreateTrunc(bits, ir.getInt32Ty()));
  Value* high = emit_lane_mask(ir, ir.CreateTrunc(ir.CreateLShr(bits, 32), ir.getInt32Ty()));
  std::vector<int> order;
  for (unsigned i = 0; i < lanes; ++i) order.push_back(static_cast<int>(i));
  return ir.CreateShuffleVector(low, high, order);
#else
  return ir.CreateBitCast(bits, llvm::FixedVectorType::get(ir.getInt1Ty(), lanes));
#endif
}

void emit_usually(llvm::IRBuilder<>& ir, Value* condition, llvm::BasicBlock* usual,
                  llvm::BasicBlock* otherwise) {
  ir.CreateCondBr(condition, usual, otherwise,
                  llvm::MDBuilder(ir.getContext()).createLikelyBranchWeights());
}

void emit_rarely(llvm::IRBuilder<>& ir, Value* condition, llvm::BasicBlock* rare,
                 llvm::BasicBlock* otherwise) {
  ir.CreateCondBr(condition, rare, otherwise,
                  llvm::MDBuilder(ir.getContext()).createUnlikelyBranchWeights());
}

void emit_mostly(llvm::IRBuilder<>& ir, Value* condition, uint32_t times, llvm::BasicBlock* most,
                 llvm::BasicBlock* otherwise) {
  ir.CreateCondBr(condition, most, otherwise,
                  llvm::MDBuilder(ir.getContext()).createBranchWeights(times, 1));
}

// LLVM's code for a cast shuffles bytes on arm64, and brings the sum over the stack.
Value* emit_mask_bits(llvm::IRBuilder<>& ir, Value* mask) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
#if defined(__aarch64__)
  if (lanes == 8 || lanes == 16) {
    std::vector<uint32_t> numbers;
    for (unsigned i = 0; i < lanes; ++i) numbers.push_back(uint32_t{1} << i);
    Value* own = llvm::ConstantDataVector::get(ir.getContext(), numbers);
    Value* set = ir.CreateAnd(ir.CreateSExt(mask, own->getType()), own);
    Value* sum = nullptr;
    for (int i = 0; i < static_cast<int>(lanes); i += 4) {
      Value* quad = ir.CreateShuffleVector(set, {i, i + 1, i + 2, i + 3});
      sum = sum == nullptr ? quad : ir.CreateOr(sum, quad);
    }
    sum = ir.CreateIntrinsic(ir.getInt32Ty(), llvm::Intrinsic::aarch64_neon_uaddv, {sum});
    return ir.CreateTrunc(sum, ir.getIntNTy(lanes));
  }
#endif
  return ir.CreateBitCast(mask, ir.getIntNTy(lanes));
}

}  // namespace wavetap::jit
