#include "jit/native/lane_ops.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
using llvm::Value;
namespace slot = isa::slot;

namespace {

// A register that is plain storage, or a constant.
bool is_plain_source(const Operand& operand) {
  if (operand.is(OperandKind::kImm)) return true;
  return operand.is(OperandKind::kScalar) && operand.index < slot::kNull;
}

Value* lane_address(llvm::IRBuilder<>& ir, Value* rows, uint32_t reg, unsigned lanes, Value* lane) {
  Value* at = ir.CreateAnd(lane, ir.getInt32(lanes - 1));
  Value* index =
      ir.CreateAdd(ir.CreateZExt(at, ir.getInt64Ty()), ir.getInt64(uint64_t{reg} * lanes));
  return ir.CreateGEP(ir.getInt32Ty(), rows, index);
}

}  // namespace

bool is_compiled_lane_op(const Inst& inst) {
  const auto reads_lane = [&] {
    return inst.src[0].is(OperandKind::kVgpr) && inst.dst.is(OperandKind::kScalar) &&
           inst.dst.index < slot::kNull;
  };
  switch (inst.op) {
    case Op::v_readfirstlane_b32: return reads_lane();
    case Op::v_readlane_b32: return reads_lane() && is_plain_source(inst.src[1]);
    case Op::v_writelane_b32:
      return inst.dst.is(OperandKind::kVgpr) && is_plain_source(inst.src[0]) &&
             is_plain_source(inst.src[1]);
    default: return false;
  }
}

void emit_lane_op(llvm::IRBuilder<>& ir, ScalarFile& scalars, Value* rows, bool wave64,
                  const Inst& inst) {
  const unsigned lanes = wave64 ? 64 : 32;
  if (inst.op == Op::v_writelane_b32) {
    Value* lane = scalars.operand(inst.src[1], 32);
    ir.CreateStore(scalars.operand(inst.src[0], 32),
                   lane_address(ir, rows, inst.dst.index, lanes, lane));
    return;
  }
  Value* lane;
  if (inst.op == Op::v_readfirstlane_b32) {
    // Lane 0 when none is active: the count is 64 then.
    Value* exec = scalars.mask(slot::kExecLo, wave64);
    Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec, ir.getFalse());
    lane = ir.CreateTrunc(first, ir.getInt32Ty());
  } else {
    lane = scalars.operand(inst.src[1], 32);
  }
  scalars.set32(
      inst.dst.index,
      ir.CreateLoad(ir.getInt32Ty(), lane_address(ir, rows, inst.src[0].index, lanes, lane)));
}

}  // namespace wavetap::jit
