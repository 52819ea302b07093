// Handlers take over a segment from the strip at `redo_lane_` on: segment_emitter.h says when.
#include <cstddef>
#include <set>

#include "emu/wave.h"
#include "jit/native/emit_parts.h"
#include "jit/native/segment_emitter.h"

namespace wavetap::jit {

using llvm::BasicBlock;
using llvm::Value;
namespace slot = isa::slot;

// Addresses of lanes that are off may be what does not fit: then those of the others are looked at anew,
// and the check is made once more.
Value* SegmentEmitter::emit_address_check(FactSlots::Reader& reader) {
  const std::set<FactRoot> roots = memory_.roots(facts_);
  BasicBlock* check = new_block("check");
  BasicBlock* doubt = new_block("unfit");
  BasicBlock* again = new_block("again");
  BasicBlock* checked = new_block("checked");
  ir_.CreateBr(check);
  ir_.SetInsertPoint(check);
  Value* is_good = memory_.check(reader, exec_, all_lanes());
  BasicBlock* end = ir_.GetInsertBlock();
  emit_usually(ir_, is_good, checked, doubt);
  ir_.SetInsertPoint(doubt);
  ir_.CreateCondBr(values_.facts->is_about_others(roots, exec_), again, checked);
  ir_.SetInsertPoint(again);
  values_.facts->forget(roots);
  ir_.CreateBr(check);
  ir_.SetInsertPoint(checked);
  llvm::PHINode* result = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  result->addIncoming(ir_.getTrue(), end);
  result->addIncoming(ir_.getFalse(), doubt);
  return result;
}

// Whether what ends there is done again: a branch leads back. As far as the request tells.
bool SegmentEmitter::is_in_loop(int32_t end) const {
  for (int32_t i = end; i < request_.known; ++i) {
    const int32_t target = request_.insts[plan_.first + i].target;
    if (target >= 0 && target < plan_.first + end) return true;
  }
  return false;
}

// Goes on where all addresses are as strips need them. What is known of registers afterwards is true
// whoever does the segment.
void SegmentEmitter::emit_check(int32_t end, bool has_memory) {
  FactSlots::Reader reader(*values_.facts, facts_, exec_);
  Value* is_good = has_memory ? emit_address_check(reader) : nullptr;
  values_.facts->update(facts_, reader, exec_);
  if (!has_memory) return;
  memory_.expect(reader, facts_, is_in_loop(end));
  BasicBlock* good = new_block("addresses");
  redo_from(ir_.getInt32(0), {});
  emit_usually(ir_, is_good, good, redo_);
  ir_.SetInsertPoint(good);
  if (stores_ != nullptr && compiled_memory_op(*stores_)->space == MemoryOp::Space::kGlobal)
    ir_.CreateFence(llvm::AtomicOrdering::Release);
}

void SegmentEmitter::begin_redo() {
  redo_ = new_block("redo");
  const llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(redo_);
  redo_lane_ = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  for (const auto& [at, bits] : done_mask_) redo_mask_[at] = ir_.CreatePHI(ir_.getInt64Ty(), 2);
}

// The block that is being written can end there.
void SegmentEmitter::redo_from(Value* lane, const std::map<uint32_t, llvm::PHINode*>& masks) {
  BasicBlock* here = ir_.GetInsertBlock();
  redo_lane_->addIncoming(lane, here);
  for (const auto& [at, phi] : redo_mask_) {
    const auto made = masks.find(at);
    phi->addIncoming(made == masks.end() ? static_cast<Value*>(ir_.getInt64(0)) : made->second,
                     here);
  }
}

// The block where handlers have done it; null: they never have to.
BasicBlock* SegmentEmitter::emit_redo(int32_t begin, int32_t end) {
  if (redo_lane_->getNumIncomingValues() == 0) {
    redo_->eraseFromParent();
    return nullptr;
  }
  ir_.SetInsertPoint(redo_);
  const auto mask_at = [&](uint32_t at) {
    return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), values_.wave,
                                  offsetof(emu::Wave, s) + uint64_t{at} * sizeof(uint32_t));
  };
  llvm::Type* type = wave64_ ? ir_.getInt64Ty() : ir_.getInt32Ty();
  const auto store = [&](uint32_t at, Value* bits) {
    ir_.CreateAlignedStore(ir_.CreateTrunc(bits, type), mask_at(at), llvm::Align(4));
  };
  const auto load = [&](uint32_t at) {
    Value* bits = ir_.CreateAlignedLoad(type, mask_at(at), llvm::Align(4));
    return ir_.CreateZExt(bits, ir_.getInt64Ty());
  };
  Value* rest =
      ir_.CreateShl(ir_.getInt64(~uint64_t{0}), ir_.CreateZExt(redo_lane_, ir_.getInt64Ty()));
  store(slot::kExecLo, ir_.CreateAnd(exec_, rest));

  BasicBlock* after = new_block("redone");
  BasicBlock* stopped = memory_.is_empty() ? nullptr : new_block("redo_stopped");
  Value* performed = emit_redo_loop(begin, end, after, stopped);
  if (stopped != nullptr) {
    ir_.SetInsertPoint(stopped);
    store(slot::kExecLo, exec_);
    values_.leave(performed);
  }
  ir_.SetInsertPoint(after);
  if (!done_mask_.contains(slot::kExecLo)) store(slot::kExecLo, exec_);
  for (const auto& [at, bits] : redo_mask_) store(at, ir_.CreateOr(load(at), bits));
  return after;
}

// Goes to `stopped` when a handler has stopped the wave; the result is how many instructions of the
// block are then performed.
Value* SegmentEmitter::emit_redo_loop(int32_t begin, int32_t end, BasicBlock* after,
                                      BasicBlock* stopped) {
  const auto field = [&](size_t offset) {
    return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), values_.wave, offset);
  };
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock* loop = new_block("redo_loop");
  ir_.CreateBr(loop);
  ir_.SetInsertPoint(loop);
  llvm::PHINode* index = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  index->addIncoming(ir_.getInt64(static_cast<uint64_t>(plan_.first + begin)), before);
  Value* following = ir_.CreateAdd(index, ir_.getInt64(1));
  Value* performed = ir_.CreateSub(following, ir_.getInt64(static_cast<uint64_t>(plan_.first)));
  if (stopped != nullptr)
    ir_.CreateStore(ir_.CreateTrunc(following, ir_.getInt32Ty()), field(offsetof(emu::Wave, pc)));
  emit_handler_call(ir_, values_.wave, values_.handlers, values_.first_inst, index, plan_.first);
  if (stopped != nullptr) {
    BasicBlock* going_on = new_block("redo_next");
    Value* budget = ir_.CreateLoad(ir_.getInt64Ty(), field(offsetof(emu::Wave, budget)));
    emit_rarely(ir_, ir_.CreateICmpEQ(budget, ir_.getInt64(0)), stopped, going_on);
    ir_.SetInsertPoint(going_on);
  }
  index->addIncoming(following, ir_.GetInsertBlock());
  Value* has_more =
      ir_.CreateICmpULT(following, ir_.getInt64(static_cast<uint64_t>(plan_.first + end)));
  ir_.CreateCondBr(has_more, loop, after);
  return performed;
}

}  // namespace wavetap::jit
