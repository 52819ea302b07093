// Careful strips, then handlers, take over a segment: segment_emitter.h says when.
#include <algorithm>
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
  go_on_from(redo_, ir_.getInt32(0), {});
  emit_usually(ir_, is_good, good, redo_.block);
  ir_.SetInsertPoint(good);
  if (stores_ != nullptr && compiled_memory_op(*stores_)->space == MemoryOp::Space::kGlobal)
    ir_.CreateFence(llvm::AtomicOrdering::Release);
}

SegmentEmitter::Continuation SegmentEmitter::begin_continuation(const char* name) {
  Continuation there;
  there.block = new_block(name);
  const llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(there.block);
  there.lane = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  for (const auto& [at, bits] : done_mask_) there.masks[at] = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  return there;
}

// The block that is being written can end there.
void SegmentEmitter::go_on_from(Continuation& there, Value* lane,
                                const std::map<uint32_t, llvm::PHINode*>& masks) {
  BasicBlock* here = ir_.GetInsertBlock();
  there.lane->addIncoming(lane, here);
  for (const auto& [at, phi] : there.masks) {
    const auto made = masks.find(at);
    phi->addIncoming(made == masks.end() ? static_cast<Value*>(ir_.getInt64(0)) : made->second,
                     here);
  }
}

// --- Careful strips.

// What is stored or changed in memory at the end is left to handlers.
bool SegmentEmitter::has_careful_strips() const {
  if (stores_ != nullptr) return false;
  return std::any_of(operations_.begin(), operations_.end(), [](const Operation& operation) {
    return !operation.is_memory && operation.op->follows_nan_rule && !operation.inst->clamp;
  });
}

// They go on where one of another version was in doubt, which is a multiple of their width.
std::map<uint32_t, Value*> SegmentEmitter::emit_careful_strips() {
  ir_.SetInsertPoint(careful_.block);
  memory_.assume({});
  for_all_ = false;
  lanes_.lanes = narrowest_;
  lanes_.is_careful = true;
  row_.clear();
  lanes_.numbers.clear();
  lanes_.doubts.clear();
  std::map<uint32_t, Value*> masks = emit_strips(&careful_);
  lanes_.is_careful = false;
  return masks;
}

// --- Handlers.

// The block where handlers have done it; null: they never have to.
BasicBlock* SegmentEmitter::emit_redo(int32_t begin, int32_t end) {
  if (!redo_.is_reached()) {
    redo_.block->eraseFromParent();
    return nullptr;
  }
  ir_.SetInsertPoint(redo_.block);
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
      ir_.CreateShl(ir_.getInt64(~uint64_t{0}), ir_.CreateZExt(redo_.lane, ir_.getInt64Ty()));
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
  for (const auto& [at, bits] : redo_.masks) store(at, ir_.CreateOr(load(at), bits));
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
