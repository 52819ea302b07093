// Strips for when all lanes are on: segment_emitter.h says what they are spared.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "jit/native/emit_parts.h"
#include "jit/native/segment_emitter.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;
using isa::OperandKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Fewer operations than that are not worth code of their own.
constexpr size_t kFewOperations = 3;

// Registers of the host besides those that hold rows, as many times as a strip is wider than one of them.
constexpr unsigned kSpare = 4;
constexpr unsigned kSpareForSeries = 10;

}  // namespace

// Those for all lanes first, then those for any.
void SegmentEmitter::emit_versions() {
  BasicBlock* done = new_block("versions_done");
  std::vector<std::pair<BasicBlock*, std::map<uint32_t, Value*>>> ends;
  const auto emit = [&] {
    std::map<uint32_t, Value*> masks = emit_version();
    ends.emplace_back(ir_.GetInsertBlock(), std::move(masks));
    ir_.CreateBr(done);
  };
  std::vector<MemoryEmitter::Steps> versions;
  if (has_own_strips_for_all()) versions = memory_.likely_steps();
  for (const MemoryEmitter::Steps& steps : versions) {
    BasicBlock* fits = new_block("all_lanes");
    BasicBlock* other = new_block("other_version");
    emit_mostly(ir_, ir_.CreateAnd(is_full_, memory_.have(steps)), 4, fits, other);
    ir_.SetInsertPoint(fits);
    memory_.assume(steps);
    for_all_ = true;
    lanes_.lanes = choose_lanes_for_all();
    emit();
    ir_.SetInsertPoint(other);
  }
  memory_.assume({});
  for_all_ = false;
  lanes_.lanes = choose_lanes();
  emit();
  if (careful_.is_reached()) {
    std::map<uint32_t, Value*> masks = emit_careful_strips();
    ends.emplace_back(ir_.GetInsertBlock(), std::move(masks));
    ir_.CreateBr(done);
  } else if (careful_.block != nullptr) {
    careful_.block->eraseFromParent();
  }
  ir_.SetInsertPoint(done);
  std::map<uint32_t, llvm::PHINode*> merged;
  for (const auto& [at, of_strips] : done_mask_) {
    merged[at] = ir_.CreatePHI(ir_.getInt64Ty(), static_cast<unsigned>(ends.size()));
    for (const auto& [end, masks] : ends) merged[at]->addIncoming(masks.at(at), end);
  }
  for (const auto& [at, mask] : merged) scalars_.set_mask(at, mask, wave64_);
}

bool SegmentEmitter::has_own_strips_for_all() const {
  if (stores_ != nullptr) {
    const MemoryOp op = *compiled_memory_op(*stores_);
    if (op.update != MemoryOp::Update::kNone) return false;
  }
  return !memory_.is_empty();
}

void SegmentEmitter::find_last_writes() {
  for (const Operation& operation : operations_)
    for (const uint32_t reg : rows_written(operation)) last_write_[reg] = &operation;
}

// --- How wide strips are.

std::vector<uint32_t> SegmentEmitter::rows_written(const Operation& operation) {
  const Inst& inst = *operation.inst;
  uint32_t count = 0;
  if (operation.is_memory) count = compiled_memory_op(inst)->results(inst);
  else if (operation.op->result != Type::kNone) count = is_wide(operation.op->result) ? 2 : 1;
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < count; ++i) rows.push_back(inst.dst.index + i);
  return rows;
}

std::vector<uint32_t> SegmentEmitter::rows_read(const Operation& operation) {
  const Inst& inst = *operation.inst;
  std::vector<uint32_t> rows;
  const auto add = [&](const isa::Operand& operand, uint32_t count) {
    for (uint32_t i = 0; operand.is(OperandKind::kVgpr) && i < count; ++i)
      rows.push_back(operand.index + i);
  };
  if (operation.is_memory) {
    const MemoryOp op = *compiled_memory_op(inst);
    add(inst.vaddr, 1);
    for (uint32_t i = 0; op.is_store && i < op.elements; ++i) add(inst.src[i], op.rows());
    return rows;
  }
  for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
    const Type type = operation.op->source[k];
    if (type == Type::kNone || type == Type::kMask) continue;
    add(is_old(type) ? inst.dst : source_operand(inst, k), is_wide(type) ? 2 : 1);
  }
  return rows;
}

// How many registers of the host the operations, in their order, have in use at most, where a row takes
// `per_row`. What is the same in all lanes of the strip takes one.
unsigned SegmentEmitter::registers_at_once(unsigned per_row) const {
  const size_t count = operations_.size();
  std::vector<int> change(count + 2);
  struct Held {
    size_t begin;
    size_t end;
    bool is_read_first;
    bool is_written = false;
    unsigned registers = 1;
  };
  std::map<uint32_t, Held> now;
  const auto over = [&](const Held& value) {
    change[value.begin] += static_cast<int>(value.registers);
    change[value.end + 1] -= static_cast<int>(value.registers);
  };
  for (size_t i = 0; i < count; ++i) {
    const Operation& operation = operations_[i];
    const bool is_known = operation.is_memory && memory_.is_known(*operation.inst);
    for (const uint32_t reg : rows_read(operation)) {
      // Of addresses in a row the first one is enough.
      if (is_known && reg == operation.inst->vaddr.index && !now.contains(reg)) continue;
      Held& held = now.try_emplace(reg, Held{i, i, true, false, per_row}).first->second;
      // What was not written can be loaded again.
      if (!held.is_written) held.begin = i;
      held.end = i;
    }
    const bool is_one = operation.is_memory && memory_.is_same(*operation.inst);
    for (const uint32_t reg : rows_written(operation)) {
      const auto [at, is_new] = now.try_emplace(reg, Held{i, i, false});
      if (!is_new) over(at->second);
      // Results take the place of operands that nobody reads later.
      at->second.begin = at->second.end = operation.is_memory ? i : i + 1;
      at->second.registers = is_one ? 1 : per_row;
      at->second.is_written = true;
    }
  }
  for (auto& [reg, value] : now) {
    // Until the strip is known to be right.
    if (value.is_read_first && may_doubt_ && last_write_.contains(reg) && is_needed(reg))
      value.end = count;
    over(value);
  }
  int most = 0;
  int at_once = 0;
  for (const int more : change) most = std::max(most, at_once += more);
  return static_cast<unsigned>(most);
}

// As wide as the host's registers hold what is in use: that hides latencies.
unsigned SegmentEmitter::choose_lanes_for_all() const {
  const bool has_series = std::any_of(operations_.begin(), operations_.end(), is_series);
  const unsigned spare = has_series ? kSpareForSeries : kSpare;
  unsigned lanes = vectors_.lanes;
  for (unsigned per_row = 4; per_row > 1 && lanes == vectors_.lanes; per_row /= 2)
    if (registers_at_once(per_row) + spare * per_row <= vectors_.registers) lanes *= per_row;
  for (const Operation& operation : operations_)
    lanes = std::max(lanes, lane_pattern(*operation.inst).group);
  return std::min(lanes, memory_.is_empty() ? wave_lanes_ : kAddressGroup);
}

// --- Rows.

// A handler that does the strip again reads what the wave has.
void SegmentEmitter::note_read(uint32_t reg) {
  Row& row = row_[reg];
  row.is_read |= !row.is_written;
}

void SegmentEmitter::set_row(uint32_t reg, Value* bits, Value* number, const Operation& operation) {
  Row& row = row_[reg];
  row.bits = bits;
  row.number = number;
  row.is_written = true;
  const bool is_final = last_write_.at(reg) == &operation;
  if (!for_all_ || !is_final || !is_needed(reg) || (row.is_read && may_doubt_)) return;
  settle(row);
  ir_.CreateAlignedStore(bits, row_address(reg), llvm::Align(std::min(lanes_.lanes * 4, 64u)));
  row.is_stored = true;
}

// --- Doubts. They are gathered as they come, so that values need not be kept for them.

void SegmentEmitter::gather_doubts() {
  if (!for_all_) return;
  const auto add = [&](Value* doubt) {
    wrong_ = wrong_ == nullptr ? doubt : ir_.CreateOr(wrong_, doubt);
  };
  for (Value* number : lanes_.numbers) {
#if defined(__aarch64__)
    if (number->getType() == lanes_.f32()) {
      std::swap(largest_[0], largest_[1]);
      largest_[0] = largest_[0] == nullptr
                        ? number
                        : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, largest_[0], number);
      continue;
    }
#endif
    add(ir_.CreateNot(are_ordered(number)));
  }
  for (Value* doubt : lanes_.doubts) add(doubt);
  lanes_.numbers.clear();
  lanes_.doubts.clear();
}

// Null: there was no doubt.
Value* SegmentEmitter::are_gathered_right() {
  Value* right = nullptr;
  if (largest_[0] != nullptr) {
    Value* all = largest_[0];
    if (largest_[1] != nullptr)
      all = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, all, largest_[1]);
    Value* largest = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::vector_reduce_fmaximum, all);
    right = ir_.CreateFCmpORD(largest, largest);
  }
  if (wrong_ == nullptr) return right;
  Value* others = ir_.CreateNot(ir_.CreateOrReduce(wrong_));
  return right == nullptr ? others : ir_.CreateAnd(right, others);
}

void SegmentEmitter::emit_stores_for_all(BasicBlock* done) {
  if (Value* right = are_gathered_right()) {
    BasicBlock* store = new_block("store");
    go_on_from(after_doubt(), lane_, done_mask_);
    emit_usually(ir_, right, store, after_doubt().block);
    ir_.SetInsertPoint(store);
  }
  if (stores_ != nullptr) emit_stored();
  store_rows(nullptr);
  ir_.CreateBr(done);
}

}  // namespace wavetap::jit
