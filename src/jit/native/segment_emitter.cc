#include "jit/native/segment_emitter.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "emu/wave.h"
#include "jit/native/emit_parts.h"

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
      lanes_{ir, 4},
      memory_(ir, values.wave, values.rows, wave_lanes_) {}

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
  capture(begin, end);
  lanes_.lanes = choose_lanes();
  is_full_ = ir_.CreateICmpEQ(exec_, ir_.getInt64(wave64_ ? ~uint64_t{0} : 0xffffffffu));
  if (may_redo) begin_redo();
  if (has_memory) emit_check();
  const uint32_t elements = stores_ != nullptr ? compiled_memory_op(*stores_)->elements : 1;
  for (element_ = 0; element_ < elements; ++element_) {
    row_.clear();
    emit_strips();
  }
  if (!may_redo) return;
  scalars_.flush();
  BasicBlock* join = new_block("join");
  ir_.CreateBr(join);
  emit_redo(begin, end, join);
  ir_.SetInsertPoint(join);
  scalars_.forget();
}

void SegmentEmitter::capture(int32_t begin, int32_t end) {
  std::set<uint32_t> masks;  // that operations before have made
  const auto take = [&](const Inst& inst, bool is_paired) {
    Operation operation{&inst, compiled_vector_op(inst)};
    operation.is_paired = is_paired;
    for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
      const Type type = operation.op->source[k];
      const isa::Operand& operand = inst.src[k];
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
  };
  for (int32_t i = begin; i < end; ++i) {
    const Inst& inst = request_.insts[plan_.first + i];
    switch (plan_.insts[static_cast<size_t>(i)].kind) {
      case Kind::kScalar: emit_scalar(ir_, scalars_, inst); break;
      case Kind::kMemory: {
        Operation operation{&inst, nullptr};
        operation.is_memory = true;
        operations_.push_back(operation);
        memory_.add(inst, plan_.first + i, scalars_);
        if (compiled_memory_op(inst)->is_store) stores_ = &inst;
        break;
      }
      case Kind::kVector:
        take(inst, false);
        if (inst.vopd_first) take((&inst)[1], true);
        break;
      default: break;
    }
  }
  for (const uint32_t at : masks) done_mask_[at] = nullptr;
}

// Wide strips hide latencies, but only as long as the host's registers hold them.
unsigned SegmentEmitter::choose_lanes() const {
  std::set<uint32_t> results;
  for (const Operation& operation : operations_) {
    if (operation.is_memory) {
      const MemoryOp op = *compiled_memory_op(*operation.inst);
      for (uint32_t i = 0; !op.is_store && i < op.elements * op.rows(); ++i)
        results.insert(operation.inst->dst.index + i);
      continue;
    }
    if (operation.op->result == Type::kNone) continue;
    results.insert(operation.inst->dst.index);
    if (is_wide(operation.op->result)) results.insert(operation.inst->dst.index + 1u);
  }
  const auto live = static_cast<unsigned>(results.size()) + 2;
  const unsigned most = memory_.is_empty() ? wave_lanes_ : kAddressGroup;
  for (unsigned per_row = 4; per_row > 1; per_row /= 2)
    if (live * per_row < vectors_.registers) return std::min(vectors_.lanes * per_row, most);
  return std::min(vectors_.lanes, most);
}

// --- The loop over strips.

void SegmentEmitter::emit_strips() {
  const unsigned lanes = lanes_.lanes;
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock* strip = new_block("strip");
  BasicBlock* work = new_block("work");
  BasicBlock* next = new_block("next_strip");
  BasicBlock* done = new_block("done");
  ir_.CreateBr(strip);

  ir_.SetInsertPoint(strip);
  llvm::PHINode* lane = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  lane->addIncoming(ir_.getInt32(0), before);
  for (auto& [at, bits] : done_mask_) {
    bits = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    bits->addIncoming(ir_.getInt64(0), before);
  }
  lane_ = lanes_.first_lane = lane;
  Value* shifted = ir_.CreateLShr(exec_, ir_.CreateZExt(lane, ir_.getInt64Ty()));
  active_ = ir_.CreateTrunc(shifted, ir_.getIntNTy(lanes));
  ir_.CreateCondBr(ir_.CreateICmpEQ(active_, llvm::Constant::getNullValue(active_->getType())),
                   next, work);

  ir_.SetInsertPoint(next);
  std::map<uint32_t, llvm::PHINode*> merged;
  for (auto& [at, bits] : done_mask_) {
    merged[at] = ir_.CreatePHI(ir_.getInt64Ty(), 3);
    merged[at]->addIncoming(bits, strip);
  }

  ir_.SetInsertPoint(work);
  emit_operations();
  std::map<uint32_t, Value*> made;
  for (auto& [at, bits] : done_mask_) {
    Value* wide = ir_.CreateZExt(mask_bits(mask_[at]), ir_.getInt64Ty());
    made[at] = ir_.CreateOr(bits, ir_.CreateShl(wide, ir_.CreateZExt(lane, ir_.getInt64Ty())));
  }
  BasicBlock* stored = new_block("stored");
  emit_stores(stored);
  ir_.SetInsertPoint(stored);
  for (auto& [at, bits] : merged) bits->addIncoming(made[at], stored);
  ir_.CreateBr(next);

  ir_.SetInsertPoint(next);
  Value* following = ir_.CreateAdd(lane, ir_.getInt32(lanes));
  lane->addIncoming(following, next);
  for (auto& [at, bits] : done_mask_) bits->addIncoming(merged[at], next);
  ir_.CreateCondBr(ir_.CreateICmpULT(following, ir_.getInt32(wave_lanes_)), strip, done);
  ir_.SetInsertPoint(done);
  for (const auto& [at, bits] : merged) scalars_.set_mask(at, bits, wave64_);
}

Value* SegmentEmitter::mask_bits(Value* mask) {
  Value* bits = ir_.CreateBitCast(mask, ir_.getIntNTy(lanes_.lanes));
  return ir_.CreateAnd(bits, active_);
}

void SegmentEmitter::emit_load(const Inst& inst) {
  const MemoryOp op = *compiled_memory_op(inst);
  uint32_t reg = inst.dst.index;
  std::vector<std::pair<uint32_t, Value*>> loaded;
  for (uint32_t element = 0; element < op.elements; ++element)
    for (Value* row : memory_.load(inst, element)) loaded.push_back({reg++, row});
  for (const auto& [at, row] : loaded) row_[at] = {row, nullptr, true};
}

// What is stored is read here, and stored when it is known to be right.
void SegmentEmitter::take_stored(const Inst& inst) {
  const MemoryOp op = *compiled_memory_op(inst);
  stored_.clear();
  for (uint32_t i = 0; i < op.rows(); ++i)
    stored_.push_back(read32(inst.src[element_].index + i, false));
}

void SegmentEmitter::emit_operations() {
  if (!memory_.is_empty()) memory_.begin_strip(lanes_, lane_, active_);
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].is_memory) {
      const Inst& inst = *operations_[i].inst;
      if (&inst == stores_) take_stored(inst);
      else emit_load(inst);
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
  }
  for (auto& [reg, row] : row_)
    if (row.is_written) settle(row);
}

SegmentEmitter::Result SegmentEmitter::emit_operation(const Operation& operation) {
  Value* sources[VectorOp::kMaxSources] = {};
  for (size_t k = 0; k < VectorOp::kMaxSources; ++k)
    if (operation.op->source[k] != Type::kNone) sources[k] = source(operation, k);
  lanes_.mask = nullptr;
  Value* value = operation.op->build(lanes_, sources);
  return {&operation, value, lanes_.mask};
}

void SegmentEmitter::write(const Result& result) {
  const Inst& inst = *result.operation->inst;
  const VectorOp& op = *result.operation->op;
  if (result.mask != nullptr) {
    const MaskSlots slots = mask_slots(inst);
    if (slots.has_mask) mask_[slots.mask] = result.mask;
    if (slots.to_exec) mask_[slot::kExecLo] = result.mask;
  }
  if (op.result == Type::kNone) return;
  if (op.result == Type::kF32x2) {
    for (const bool high : {false, true}) {
      Value* part = lanes_.part_of(result.value, high);
      row_[inst.dst.index + (high ? 1u : 0)] = {ir_.CreateBitCast(part, lanes_.u32()), part, true};
    }
    return;
  }
  Value* number = op.propagates_nan ? result.value : nullptr;
  if (!is_wide(op.result)) {
    row_[inst.dst.index] = {ir_.CreateBitCast(result.value, lanes_.u32()), number, true};
    return;
  }
  Value* bits = ir_.CreateBitCast(result.value, lanes_.u64());
  row_[inst.dst.index] = {lanes_.half_of(bits, false), number, true};
  row_[inst.dst.index + 1u] = {lanes_.half_of(bits, true), number, true};
}

// --- Operands.

Value* SegmentEmitter::row_address(uint32_t reg) {
  Value* index = ir_.CreateAdd(ir_.CreateZExt(lane_, ir_.getInt64Ty()),
                               ir_.getInt64(uint64_t{reg} * wave_lanes_));
  return ir_.CreateGEP(ir_.getInt32Ty(), values_.rows, index);
}

Value* SegmentEmitter::row_bits(uint32_t reg) {
  Row& row = row_[reg];
  if (row.bits == nullptr)
    row.bits = ir_.CreateAlignedLoad(lanes_.u32(), row_address(reg),
                                     llvm::Align(std::min(lanes_.lanes * 4, 64u)));
  return row.bits;
}

void SegmentEmitter::settle(Row& row) {
  if (row.number == nullptr) return;
  if (std::find(lanes_.numbers.begin(), lanes_.numbers.end(), row.number) == lanes_.numbers.end())
    lanes_.numbers.push_back(row.number);
  row.number = nullptr;
}

Value* SegmentEmitter::read32(uint32_t reg, bool as_number) {
  Value* bits = row_bits(reg);
  Row& row = row_[reg];
  if (as_number && row.number != nullptr && row.number->getType() == lanes_.f32())
    return row.number;
  settle(row);
  return as_number ? ir_.CreateBitCast(bits, lanes_.f32()) : bits;
}

Value* SegmentEmitter::read64(uint32_t reg, bool as_number) {
  Value* low = row_bits(reg);
  Value* high = row_bits(reg + 1);
  Row& first = row_[reg];
  Row& second = row_[reg + 1];
  if (as_number && first.number != nullptr && first.number == second.number) return first.number;
  settle(first);
  settle(second);
  Value* bits = lanes_.join(low, high);
  return as_number ? ir_.CreateBitCast(bits, lanes_.f64()) : bits;
}

Value* SegmentEmitter::source(const Operation& operation, size_t k) {
  const Type type = operation.op->source[k];
  const isa::Operand& operand = operation.inst->src[k];
  const bool wide = is_wide(type);
  if (type == Type::kMask) {
    if (operation.scalar[k] == nullptr) return mask_[mask_source(*operation.inst, k)];
    Value* shifted = ir_.CreateLShr(operation.scalar[k], ir_.CreateZExt(lane_, ir_.getInt64Ty()));
    return emit_lane_mask(ir_, ir_.CreateTrunc(shifted, ir_.getIntNTy(lanes_.lanes)));
  }
  if (type == Type::kF32x2) return packed_source(operation, k);
  Value* value;
  if (operation.scalar[k] != nullptr) {
    value = lanes_.splat(operation.scalar[k]);
    if (is_float(type)) value = ir_.CreateBitCast(value, wide ? lanes_.f64() : lanes_.f32());
  } else {
    const uint32_t reg = is_old(type) ? operation.inst->dst.index : operand.index;
    // An operation that hides NaNs has to see where they are.
    const bool passes = is_float(type) && operation.op->propagates_nan;
    value = wide ? read64(reg, passes) : read32(reg, passes);
    if (is_float(type) && !passes)
      value = ir_.CreateBitCast(value, wide ? lanes_.f64() : lanes_.f32());
  }
  if (is_old(type)) return value;
  if (operand.abs) value = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  return operand.neg ? ir_.CreateFNeg(value) : value;
}

// Each result takes the dword that op_sel chooses for it; neg and abs negate one each.
Value* SegmentEmitter::packed_source(const Operation& operation, size_t k) {
  const isa::Operand& operand = operation.inst->src[k];
  const auto dword = [&](bool high) {
    if (operation.scalar[k] == nullptr) return read32(operand.index + (high ? 1u : 0), true);
    Value* half = high ? ir_.CreateLShr(operation.scalar[k], 32) : operation.scalar[k];
    Value* bits = lanes_.splat(ir_.CreateTrunc(half, ir_.getInt32Ty()));
    return ir_.CreateBitCast(bits, lanes_.f32());
  };
  Value* first = dword(operand.op_sel);
  Value* second = dword(operand.op_sel_hi);
  if (operand.neg) first = ir_.CreateFNeg(first);
  if (operand.abs) second = ir_.CreateFNeg(second);
  return lanes_.append(first, second);
}

// --- Results.

void SegmentEmitter::store_rows(Value* active) {
  const llvm::Align align(std::min(lanes_.lanes * 4, 64u));
  for (const auto& [reg, row] : row_) {
    if (!row.is_written) continue;
    Value* at = row_address(reg);
    Value* value = row.bits;
    if (active != nullptr)
      value = ir_.CreateSelect(active, value, ir_.CreateAlignedLoad(lanes_.u32(), at, align));
    ir_.CreateAlignedStore(value, at, align);
  }
}

void SegmentEmitter::emit_stores(BasicBlock* done) {
  BasicBlock* store = new_block("store");
  BasicBlock* store_all = new_block("store_all");
  BasicBlock* store_some = new_block("store_some");
  if (lanes_.numbers.empty()) {
    ir_.CreateBr(store);
  } else {
    Value* are_numbers = nullptr;
    for (Value* number : lanes_.numbers) {
      Value* is_number = ir_.CreateFCmpORD(number, number);
      are_numbers = are_numbers == nullptr ? is_number : ir_.CreateAnd(are_numbers, is_number);
    }
    BasicBlock* look = new_block("look");
    ir_.CreateCondBr(ir_.CreateAndReduce(are_numbers), store, look);
    // Lanes that are off do not matter.
    ir_.SetInsertPoint(look);
    Value* is_doubted = ir_.CreateICmpNE(mask_bits(ir_.CreateNot(are_numbers)),
                                         llvm::Constant::getNullValue(active_->getType()));
    redo_from(lane_, done_mask_);
    ir_.CreateCondBr(is_doubted, redo_, store);
  }
  ir_.SetInsertPoint(store);
  if (stores_ != nullptr) memory_.store(*stores_, element_, stored_);
  ir_.CreateCondBr(is_full_, store_all, store_some);
  ir_.SetInsertPoint(store_all);
  store_rows(nullptr);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(store_some);
  store_rows(emit_lane_mask(ir_, active_));
  ir_.CreateBr(done);
}

}  // namespace wavetap::jit
