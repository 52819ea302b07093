#include "jit/native/segment_emitter.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "emu/wave.h"
#include "jit/native/emit_parts.h"
#include "jit/native/nan_checks.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using isa::Inst;
using isa::OperandKind;
using llvm::BasicBlock;
using llvm::Value;
namespace slot = isa::slot;

SegmentEmitter::SegmentEmitter(llvm::IRBuilder<>& ir, ScalarFile& scalars,
                               const BlockRequest& request, const Plan& plan,
                               const HostVectors& vectors, const BlockValues& values)
    : ir_(ir),
      scalars_(scalars),
      request_(request),
      plan_(plan),
      vectors_(vectors),
      values_(values),
      wave_lanes_(request.wave64 ? 64 : 32),
      wave64_(request.wave64),
      lanes_{ir, 4, vectors.has_halves},
      memory_(ir, values.wave) {}

BasicBlock* SegmentEmitter::new_block(const char* name) {
  return BasicBlock::Create(ir_.getContext(), name, ir_.GetInsertBlock()->getParent());
}

void SegmentEmitter::emit(int32_t begin, int32_t end) {
  bool has_memory = false;
  for (int32_t i = begin; i < end; ++i) {
    const Inst& inst = request_.insts[plan_.first + i];
    const Kind kind = plan_.insts[static_cast<size_t>(i)].kind;
    has_memory |= kind == Kind::kMemory;
    if (kind != Kind::kVector) continue;
    const auto doubts = [](const VectorOp& of) { return of.propagates_nan || of.names_numbers; };
    may_doubt_ |= doubts(*compiled_vector_op(inst));
    if (inst.vopd_first) may_doubt_ |= doubts(*compiled_vector_op((&inst)[1]));
  }
  const bool may_redo = may_doubt_ || has_memory;
  // Handlers that take over begin with what the wave has here.
  if (may_redo) scalars_.flush();
  exec_ = scalars_.mask(slot::kExecLo, wave64_);
  // Lanes that the last one takes off EXEC were written as well.
  const Inst& last = request_.insts[plan_.first + end - 1];
  const bool changes_exec = plan_.at(end - 1).kind == Kind::kVector && mask_slots(last).to_exec;
  if (request_.live != nullptr) live_ = &request_.live[changes_exec ? end - 1 : end];
  capture(begin, end);
  move_loads();
  find_last_writes();
  is_full_ = ir_.CreateICmpEQ(exec_, ir_.getInt64(all_lanes()));
  if (may_redo) redo_ = begin_continuation("redo");
  if (has_careful_strips()) careful_ = begin_continuation("careful");
  emit_check(end, has_memory);
  emit_versions();
  if (may_redo) emit_join(begin, end);
}

// What the strips have made is not loaded again behind the segment, but for where handlers did it.
void SegmentEmitter::emit_join(int32_t begin, int32_t end) {
  std::vector<ScalarFile::Recent> recent = scalars_.recent();
  scalars_.flush();
  scalars_.forget();
  BasicBlock* join = new_block("join");
  BasicBlock* strips = ir_.GetInsertBlock();
  ir_.CreateBr(join);
  BasicBlock* redone = emit_redo(begin, end);
  std::vector<Value*> loaded;
  if (redone != nullptr) {
    loaded = scalars_.load(recent);
    ir_.CreateBr(join);
  }
  ir_.SetInsertPoint(join);
  for (size_t i = 0; i < loaded.size(); ++i) {
    llvm::PHINode* value = ir_.CreatePHI(loaded[i]->getType(), 2);
    value->addIncoming(recent[i].value, strips);
    value->addIncoming(loaded[i], redone);
    recent[i].value = value;
  }
  for (const ScalarFile::Recent& of : recent) scalars_.take(of);
}

void SegmentEmitter::capture(int32_t begin, int32_t end) {
  std::set<uint32_t> masks;  // that operations before have made
  const auto take = [&](const Inst& inst, bool is_paired) {
    Operation operation{&inst, compiled_vector_op(inst)};
    operation.is_paired = is_paired;
    for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
      const Type type = operation.op->source[k];
      const isa::Operand& operand = source_operand(inst, k);
      if (type == Type::kMask) {
        const uint32_t at = mask_source(inst, k);
        if (!masks.contains(at)) operation.scalar[k] = scalars_.mask(at, wave64_);
      } else if (type != Type::kNone && !is_old(type) && !operand.is(OperandKind::kVgpr)) {
        operation.scalar[k] = scalars_.operand(operand, is_wide(type) ? 64 : 32);
      }
    }
    const MaskSlots slots = mask_slots(inst);
    if (slots.has_mask) masks.insert(slots.mask);
    if (slots.to_exec) masks.insert(slot::kExecLo);
    operations_.push_back(operation);
    facts_.follow(inst, [&](const isa::Operand& of) { return scalars_.operand(of, 32); });
  };
  for (int32_t i = begin; i < end; ++i) {
    const Inst& inst = request_.insts[plan_.first + i];
    switch (plan_.insts[static_cast<size_t>(i)].kind) {
      case Kind::kScalar: emit_scalar(ir_, scalars_, inst); break;
      case Kind::kFence: values_.fence(inst); break;
      case Kind::kMemory: {
        Operation operation{&inst, nullptr};
        operation.is_memory = true;
        operations_.push_back(operation);
        memory_.add(inst, plan_.first + i, scalars_, facts_);
        const MemoryOp op = *compiled_memory_op(inst);
        if (op.is_store) stores_ = &inst;
        may_doubt_ |= op.update != MemoryOp::Update::kNone;
        for (uint32_t k = 0; k < op.results(inst); ++k) facts_.forget(inst.dst.index + k);
        break;
      }
      case Kind::kVector:
        take(inst, false);
        if (inst.vopd_first) take((&inst)[1], true);
        break;
      default: break;
    }
  }
  for (const uint32_t at : masks)
    if (is_needed_mask(at)) done_mask_[at] = nullptr;
}

bool SegmentEmitter::is_needed_mask(uint32_t at) const {
  if (live_ == nullptr || at > slot::kVccLo) return true;
  return live_->has_slot(at) || (wave64_ && live_->has_slot(at + 1));
}

// Wide strips hide latencies, but only as long as the host's registers hold them.
unsigned SegmentEmitter::choose_lanes() const {
  std::set<uint32_t> results;
  for (const Operation& operation : operations_) {
    if (operation.is_memory) {
      const MemoryOp op = *compiled_memory_op(*operation.inst);
      for (uint32_t i = 0; i < op.results(*operation.inst); ++i)
        results.insert(operation.inst->dst.index + i);
      continue;
    }
    if (operation.op->result == Type::kNone) continue;
    results.insert(operation.inst->dst.index);
    if (is_wide(operation.op->result)) results.insert(operation.inst->dst.index + 1u);
  }
  std::erase_if(results, [&](uint32_t reg) { return !is_needed(reg); });
  const auto live = static_cast<unsigned>(results.size()) + 2;
  unsigned lanes = vectors_.lanes;
  if (memory_.is_empty()) {
    // Arithmetic of one instruction each holds nothing but operands and results.
    const bool is_simple =
        std::all_of(operations_.begin(), operations_.end(),
                    [](const Operation& operation) { return operation.op->follows_nan_rule; });
    for (unsigned per_row = is_simple ? 8 : 4; per_row > 1 && lanes == vectors_.lanes; per_row /= 2)
      if (live * per_row < vectors_.registers) lanes *= per_row;
  } else {
    lanes *= 4;  // what is decided for each load counts more than what is spilled
  }
  // Lanes that exchange values are in one strip.
  for (const Operation& operation : operations_)
    lanes = std::max(lanes, lane_pattern(*operation.inst).group);
  return std::min(lanes, memory_.is_empty() ? wave_lanes_ : kAddressGroup);
}

// --- The loop over strips.

// All strips of the version, and the masks they make.
std::map<uint32_t, Value*> SegmentEmitter::emit_version() {
  std::map<uint32_t, Value*> masks;
  const uint32_t elements = stores_ != nullptr ? compiled_memory_op(*stores_)->elements : 1;
  for (element_ = 0; element_ < elements; ++element_) {
    row_.clear();
    lanes_.numbers.clear();
    lanes_.doubts.clear();
    masks = emit_strips();
  }
  return masks;
}

std::map<uint32_t, Value*> SegmentEmitter::emit_strips(const Continuation* from) {
  const unsigned lanes = lanes_.lanes;
  narrowest_ = std::min(narrowest_, lanes);
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock* strip = new_block("strip");
  BasicBlock* work = new_block("work");
  BasicBlock* next = new_block("next_strip");
  BasicBlock* done = new_block("done");
  ir_.CreateBr(strip);

  ir_.SetInsertPoint(strip);
  llvm::PHINode* lane = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  lane->addIncoming(from == nullptr ? static_cast<Value*>(ir_.getInt32(0)) : from->lane, before);
  for (auto& [at, bits] : done_mask_) {
    bits = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    bits->addIncoming(from == nullptr ? static_cast<Value*>(ir_.getInt64(0)) : from->masks.at(at),
                      before);
  }
  lane_ = lanes_.first_lane = lane;
  if (for_all_) {
    active_ = llvm::Constant::getAllOnesValue(ir_.getIntNTy(lanes));
    ir_.CreateBr(work);
  } else {
    Value* shifted = ir_.CreateLShr(exec_, ir_.CreateZExt(lane, ir_.getInt64Ty()));
    active_ = ir_.CreateTrunc(shifted, ir_.getIntNTy(lanes));
    ir_.CreateCondBr(ir_.CreateICmpEQ(active_, llvm::Constant::getNullValue(active_->getType())),
                     next, work);
  }

  ir_.SetInsertPoint(next);
  std::map<uint32_t, llvm::PHINode*> merged;
  for (auto& [at, bits] : done_mask_) {
    merged[at] = ir_.CreatePHI(ir_.getInt64Ty(), 3);
    if (!for_all_) merged[at]->addIncoming(bits, strip);
  }

  ir_.SetInsertPoint(work);
  emit_operations();
  std::map<uint32_t, Value*> made;
  for (auto& [at, bits] : done_mask_) {
    Value* wide = ir_.CreateZExt(mask_bits(mask_[at]), ir_.getInt64Ty());
    made[at] = ir_.CreateOr(bits, ir_.CreateShl(wide, ir_.CreateZExt(lane, ir_.getInt64Ty())));
  }
  BasicBlock* stored = new_block("stored");
  if (for_all_) emit_stores_for_all(stored);
  else emit_stores(stored);
  ir_.SetInsertPoint(stored);
  for (auto& [at, bits] : merged) bits->addIncoming(made[at], stored);
  ir_.CreateBr(next);

  ir_.SetInsertPoint(next);
  Value* following = ir_.CreateAdd(lane, ir_.getInt32(lanes));
  lane->addIncoming(following, next);
  for (auto& [at, bits] : done_mask_) bits->addIncoming(merged[at], next);
  emit_mostly(ir_, ir_.CreateICmpULT(following, ir_.getInt32(wave_lanes_)), wave_lanes_ / lanes - 1,
              strip, done);
  ir_.SetInsertPoint(done);
  return {merged.begin(), merged.end()};
}

Value* SegmentEmitter::mask_bits(Value* mask) {
  return ir_.CreateAnd(emit_mask_bits(ir_, mask), active_);
}

void SegmentEmitter::emit_load(const Operation& operation) {
  const Inst& inst = *operation.inst;
  uint32_t reg = inst.dst.index;
  note_read(inst.vaddr.index + 1u);
  Value* low = read32(inst.vaddr.index, false);
  const bool is_whole = compiled_memory_op(inst)->part == MemoryOp::Part::kWhole;
  Value* old = is_whole ? nullptr : read32(reg, false);
  for (Value* row : memory_.load(inst, low, old)) set_row(reg++, row, nullptr, operation);
}

// What is stored is read here, and stored when it is known to be right.
void SegmentEmitter::take_stored(const Inst& inst) {
  const MemoryOp op = *compiled_memory_op(inst);
  stored_.clear();
  note_read(inst.vaddr.index + 1u);
  stored_at_ = read32(inst.vaddr.index, false);
  for (uint32_t i = 0; i < op.rows(); ++i)
    stored_.push_back(read32(inst.src[element_].index + i, false));
  if (op.update != MemoryOp::Update::kNone)
    lanes_.doubts.push_back(memory_.misaligned(inst, stored_at_));
}

void SegmentEmitter::emit_stored() {
  if (compiled_memory_op(*stores_)->update == MemoryOp::Update::kNone)
    return memory_.store(*stores_, element_, stored_at_, stored_);
  const std::vector<Value*> old = memory_.update(*stores_, stored_at_, stored_);
  if (stores_->dst.is(OperandKind::kNone)) return;
  for (uint32_t i = 0; i < old.size(); ++i) row_[stores_->dst.index + i] = {old[i], nullptr, true};
}

void SegmentEmitter::emit_operations() {
  largest_[0] = largest_[1] = wrong_ = nullptr;
  if (!memory_.is_empty()) memory_.begin_strip(lanes_, active_);
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (const size_t end = end_of_series(i); end != i) {
      emit_series(i, end);
      i = end - 1;
      continue;
    }
    if (operations_[i].is_memory) {
      const Inst& inst = *operations_[i].inst;
      if (&inst == stores_) take_stored(inst);
      else emit_load(operations_[i]);
      gather_doubts();
      continue;
    }
    const Result first = emit_operation(operations_[i]);
    if (i + 1 < operations_.size() && operations_[i + 1].is_paired) {
      const Result second = emit_operation(operations_[++i]);
      write(first);
      write(second);
    } else {
      write(first);
    }
    gather_doubts();
  }
  // A NaN that nobody reads does not matter; who has read it would have noticed.
  for (auto& [reg, row] : row_)
    if (row.is_written && is_needed(reg)) settle(row);
  gather_doubts();
}

SegmentEmitter::Result SegmentEmitter::emit_operation(const Operation& operation) {
  Value* sources[VectorOp::kMaxSources] = {};
  for (size_t k = 0; k < VectorOp::kMaxSources; ++k)
    if (operation.op->source[k] != Type::kNone) sources[k] = source(operation, k);
  lanes_.mask = nullptr;
  Value* value = operation.op->build(lanes_, sources);
  const bool by_rule =
      lanes_.is_careful && operation.op->follows_nan_rule && !operation.inst->clamp;
  if (by_rule) value = follow_nan_rule(lanes_, *operation.op, sources, value);
  return {&operation, value, lanes_.mask, by_rule};
}

// --- Results.

void SegmentEmitter::store_rows(Value* active) {
  const llvm::Align align(std::min(lanes_.lanes * 4, 64u));
  for (const auto& [reg, row] : row_) {
    if (!row.is_written || row.is_stored || !is_needed(reg)) continue;
    Value* at = row_address(reg);
    Value* value = row.bits;
    if (active != nullptr)
      value = ir_.CreateSelect(active, value, ir_.CreateAlignedLoad(lanes_.u32(), at, align));
    ir_.CreateAlignedStore(value, at, align);
  }
}

// Lane by lane: no number but those of type `but` is NaN, nothing else is in doubt. Null: there are
// only such numbers.
Value* SegmentEmitter::are_right(llvm::Type* but) {
  Value* all = nullptr;
  const auto add = [&](Value* are) { all = all == nullptr ? are : ir_.CreateAnd(all, are); };
  for (Value* number : lanes_.numbers)
    if (number->getType() != but) add(are_ordered(number));
  for (Value* doubt : lanes_.doubts) add(ir_.CreateNot(doubt));
  return all;
}

// The strip as a whole. Where the host has a maximum that is NaN if one of its operands is, that takes
// half as much for a number as a comparison and what is done to its mask.
Value* SegmentEmitter::are_all_right() {
#if defined(__aarch64__)
  std::vector<Value*> singles;
  for (Value* number : lanes_.numbers)
    if (number->getType() == lanes_.f32()) singles.push_back(number);
  if (!singles.empty()) {
    for (size_t count = singles.size(); count > 1; count = (count + 1) / 2)
      for (size_t i = 0; i < count / 2; ++i)
        singles[i] =
            ir_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, singles[i], singles[count - 1 - i]);
    Value* largest = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::vector_reduce_fmaximum, singles[0]);
    Value* are_numbers = ir_.CreateFCmpORD(largest, largest);
    Value* others = are_right(lanes_.f32());
    return others == nullptr ? are_numbers
                             : ir_.CreateAnd(are_numbers, ir_.CreateAndReduce(others));
  }
#endif
  return ir_.CreateAndReduce(are_right(nullptr));
}

void SegmentEmitter::emit_stores(BasicBlock* done) {
  BasicBlock* store = new_block("store");
  BasicBlock* store_all = new_block("store_all");
  BasicBlock* store_some = new_block("store_some");
  leave_out_implied(lanes_.numbers, lanes_.lanes);
  if (lanes_.numbers.empty() && lanes_.doubts.empty()) {
    ir_.CreateBr(store);
  } else {
    BasicBlock* look = new_block("look");
    emit_usually(ir_, are_all_right(), store, look);
    // Lanes that are off do not matter.
    ir_.SetInsertPoint(look);
    Value* is_doubted = ir_.CreateICmpNE(mask_bits(ir_.CreateNot(are_right(nullptr))),
                                         llvm::Constant::getNullValue(active_->getType()));
    go_on_from(after_doubt(), lane_, done_mask_);
    emit_usually(ir_, is_doubted, after_doubt().block, store);
  }
  ir_.SetInsertPoint(store);
  if (stores_ != nullptr) emit_stored();
  ir_.CreateCondBr(is_full_, store_all, store_some);
  ir_.SetInsertPoint(store_all);
  store_rows(nullptr);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(store_some);
  store_rows(emit_lane_mask(ir_, active_));
  ir_.CreateBr(done);
}

}  // namespace wavetap::jit
