// Atomic operations of a segment on LDS: memory_emitter.h.
//
// The workgroup's waves share one host thread, so plain accesses do. Lanes come one after the other,
// the lowest first, whatever they have in common.
#include "jit/native/memory_emitter.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using isa::Inst;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Hosts disagree about NaNs; these are emu/exec/atomics.h's.
Value* sum_of_numbers(llvm::IRBuilder<>& ir, Value* old, Value* data) {
  const auto as_float = [&](Value* bits) { return ir.CreateBitCast(bits, ir.getFloatTy()); };
  const auto is_nan = [&](Value* bits) { return ir.CreateFCmpUNO(as_float(bits), as_float(bits)); };
  const auto quiet = [&](Value* bits) { return ir.CreateOr(bits, ir.getInt32(0x00400000)); };
  Value* sum = ir.CreateFAdd(as_float(old), as_float(data));
  Value* nan = ir.CreateSelect(is_nan(data), quiet(data), ir.getInt32(0x7fc00000));
  nan = ir.CreateSelect(is_nan(old), quiet(old), nan);
  return ir.CreateSelect(ir.CreateFCmpORD(sum, sum), ir.CreateBitCast(sum, ir.getInt32Ty()), nan);
}

Value* updated(llvm::IRBuilder<>& ir, MemoryOp::Update update, Value* old, Value* data) {
  using namespace llvm;
  using enum MemoryOp::Update;
  switch (update) {
    case kAdd: return ir.CreateAdd(old, data);
    case kSub: return ir.CreateSub(old, data);
    case kAnd: return ir.CreateAnd(old, data);
    case kOr: return ir.CreateOr(old, data);
    case kXor: return ir.CreateXor(old, data);
    case kSmin: return ir.CreateBinaryIntrinsic(Intrinsic::smin, old, data);
    case kSmax: return ir.CreateBinaryIntrinsic(Intrinsic::smax, old, data);
    case kUmin: return ir.CreateBinaryIntrinsic(Intrinsic::umin, old, data);
    case kUmax: return ir.CreateBinaryIntrinsic(Intrinsic::umax, old, data);
    case kAddFloat: return sum_of_numbers(ir, old, data);
    case kSwap:
    case kNone: break;
  }
  return data;
}

}  // namespace

Value* MemoryEmitter::misaligned(const Inst& inst, Value* low) {
  const Access& access = find(inst);
  Value* at = ir_.CreateAdd(low, lanes_->splat(static_cast<uint32_t>(access.offset[0])));
  Value* rest = ir_.CreateAnd(at, lanes_->splat(access.op.bytes - 1));
  return ir_.CreateICmpNE(rest, lanes_->splat(0u));
}

Value* MemoryEmitter::update_lane(const Access& access, Value* low, Value* data) {
  Value* at = pointer(access, low, 0, 0);
  Value* old = read(data->getType(), at);
  put(updated(ir_, access.op.update, old, data), at);
  return old;
}

// One after the other of those that are on, through the stack.
Value* MemoryEmitter::update_some(const Access& access, Value* low, Value* data) {
  llvm::Type* type = data->getType();
  llvm::Type* element = type->getScalarType();
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.begin());
  Value* lows = first.CreateAlloca(low->getType());
  Value* values = first.CreateAlloca(type);
  ir_.CreateStore(low, lows);
  ir_.CreateStore(data, values);
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock* loop = new_block("update_lane");
  BasicBlock* done = new_block("updated_lanes");
  ir_.CreateBr(loop);
  ir_.SetInsertPoint(loop);
  llvm::PHINode* rest = ir_.CreatePHI(active_->getType(), 2);
  rest->addIncoming(active_, before);
  Value* lane = ir_.CreateZExt(
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, ir_.getTrue()), ir_.getInt64Ty());
  Value* slot = ir_.CreateGEP(element, values, lane);
  Value* at = ir_.CreateLoad(ir_.getInt32Ty(), ir_.CreateGEP(ir_.getInt32Ty(), lows, lane));
  ir_.CreateStore(update_lane(access, at, ir_.CreateLoad(element, slot)), slot);
  Value* one = llvm::ConstantInt::get(active_->getType(), 1);
  Value* others = ir_.CreateAnd(rest, ir_.CreateSub(rest, one));
  rest->addIncoming(others, loop);
  Value* has_more = ir_.CreateICmpNE(others, llvm::Constant::getNullValue(active_->getType()));
  ir_.CreateCondBr(has_more, loop, done);
  ir_.SetInsertPoint(done);
  return ir_.CreateLoad(type, values);
}

std::vector<Value*> MemoryEmitter::update(const Inst& inst, Value* low,
                                          const std::vector<Value*>& rows) {
  const Access& access = find(inst);
  low_ = low;
  note_place(access);
  const bool is_wide = rows.size() == 2;
  Value* data = is_wide ? lanes_->join(rows[0], rows[1]) : rows[0];
  BasicBlock* all = new_block("update_all_lanes");
  BasicBlock* some = new_block("update_some_lanes");
  BasicBlock* done = new_block("updated");
  ir_.CreateCondBr(is_whole_, all, some);
  ir_.SetInsertPoint(all);
  Value* of_all = llvm::PoisonValue::get(data->getType());
  for (uint64_t lane = 0; lane < lanes_->lanes; ++lane) {
    Value* old = update_lane(access, ir_.CreateExtractElement(low, lane),
                             ir_.CreateExtractElement(data, lane));
    of_all = ir_.CreateInsertElement(of_all, old, lane);
  }
  ir_.CreateBr(done);
  ir_.SetInsertPoint(some);
  Value* of_some = update_some(access, low, data);
  some = ir_.GetInsertBlock();
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
  llvm::PHINode* old = ir_.CreatePHI(data->getType(), 2);
  old->addIncoming(of_all, all);
  old->addIncoming(of_some, some);
  if (!is_wide) return {old};
  return {lanes_->half_of(old, false), lanes_->half_of(old, true)};
}

}  // namespace wavetap::jit
