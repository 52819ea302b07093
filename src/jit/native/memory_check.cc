// The look at a segment's addresses before its first strip: memory_emitter.h.
#include <algorithm>
#include <cstddef>

#include "emu/wave.h"
#include "jit/native/emit_parts.h"
#include "jit/native/memory_emitter.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using emu::Wave;
using isa::Inst;
using isa::OperandKind;
using llvm::BasicBlock;
using llvm::Value;
using Space = MemoryOp::Space;

namespace {

constexpr uint32_t kFarthestStep = 64;

}  // namespace

void MemoryEmitter::add(const Inst& inst, int32_t index, ScalarFile& scalars) {
  const MemoryOp op = *compiled_memory_op(inst);
  const bool has_base = op.space == Space::kGlobal && !inst.saddr.is(OperandKind::kNone);
  Value* base = has_base ? scalars.operand(inst.saddr, 64) : nullptr;
  const bool has_high = op.space == Space::kGlobal && !has_base;
  Access access{&inst, index, op, 0, {}};
  access.offset[0] = int64_t{inst.offset} * op.scale;
  access.offset[1] = int64_t{inst.offset1} * op.scale;
  const auto same = [&](const Group& group) {
    return group.space == op.space && group.is_store == op.is_store &&
           group.low == inst.vaddr.index && group.has_high == has_high && group.base == base;
  };
  const auto at = std::find_if(groups_.begin(), groups_.end(), same);
  access.group = static_cast<size_t>(at - groups_.begin());
  if (at == groups_.end())
    groups_.push_back({op.space, op.is_store, inst.vaddr.index, has_high, base, access.offset[0],
                       access.offset[0]});
  Group& group = groups_[access.group];
  for (uint32_t i = 0; i < op.elements; ++i) {
    group.begin = std::min(group.begin, access.offset[i]);
    group.end = std::max(group.end, access.offset[i] + int64_t{op.bytes});
  }
  accesses_.push_back(access);
}

Value* MemoryEmitter::check(Value* exec, Value* is_full) {
  Value* all = ir_.getTrue();
  for (Group& group : groups_) all = ir_.CreateAnd(all, check_group(group, exec, is_full));
  return all;
}

Value* MemoryEmitter::row_group(uint32_t reg, unsigned lane) {
  Value* at = ir_.CreateConstGEP1_64(ir_.getInt32Ty(), rows_, uint64_t{reg} * wave_lanes_ + lane);
  return ir_.CreateAlignedLoad(llvm::FixedVectorType::get(ir_.getInt32Ty(), kAddressGroup), at,
                               llvm::Align(64));
}

Value* MemoryEmitter::lane_value(uint32_t reg, Value* lane) {
  Value* index = ir_.CreateAdd(ir_.CreateZExt(lane, ir_.getInt64Ty()),
                               ir_.getInt64(uint64_t{reg} * wave_lanes_));
  return ir_.CreateLoad(ir_.getInt32Ty(), ir_.CreateGEP(ir_.getInt32Ty(), rows_, index));
}

// Lanes that are off do not count; the first active one stands for them.
MemoryEmitter::Scan MemoryEmitter::scan(const Group& group, Value* exec, bool is_masked) {
  const unsigned count = wave_lanes_ / kAddressGroup;
  llvm::Type* type = llvm::FixedVectorType::get(ir_.getInt32Ty(), kAddressGroup);
  const auto splat = [&](Value* value) { return ir_.CreateVectorSplat(kAddressGroup, value); };
  Value* zero = llvm::Constant::getNullValue(type);
  Value* first_lane = ir_.getInt32(0);
  if (is_masked) {
    Value* found = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec, ir_.getFalse());
    first_lane =
        ir_.CreateAnd(ir_.CreateTrunc(found, ir_.getInt32Ty()), ir_.getInt32(wave_lanes_ - 1));
  }
  Value* first = lane_value(group.low, first_lane);
  Value* second_lane = is_masked ? ir_.CreateAnd(ir_.CreateAdd(first_lane, ir_.getInt32(1)),
                                                 ir_.getInt32(wave_lanes_ - 1))
                                 : ir_.getInt32(1);
  Value* step = ir_.CreateSub(lane_value(group.low, second_lane), first);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < kAddressGroup; ++i) numbers.push_back(ir_.getInt32(i));
  Value* distance = ir_.CreateMul(splat(step), llvm::ConstantVector::get(numbers));
  Value* high = group.has_high ? lane_value(group.low + 1, first_lane) : ir_.getInt32(0);

  Value* off_pattern = zero;
  Value* off_high = zero;
  Value* least = splat(first);
  Value* most = splat(first);
  for (unsigned i = 0; i < count; ++i) {
    Value* row = row_group(group.low, i * kAddressGroup);
    Value* begin = ir_.CreateExtractElement(row, uint64_t{0});
    Value* difference = ir_.CreateXor(row, ir_.CreateAdd(splat(begin), distance));
    Value* of_high = nullptr;
    if (group.has_high)
      of_high = ir_.CreateXor(row_group(group.low + 1, i * kAddressGroup), splat(high));
    if (is_masked) {
      Value* bits = ir_.CreateTrunc(ir_.CreateLShr(exec, uint64_t{i} * kAddressGroup),
                                    ir_.getIntNTy(kAddressGroup));
      Value* mask = emit_lane_mask(ir_, bits);
      difference = ir_.CreateSelect(mask, difference, zero);
      if (of_high != nullptr) of_high = ir_.CreateSelect(mask, of_high, zero);
      row = ir_.CreateSelect(mask, row, splat(first));
    }
    off_pattern = ir_.CreateOr(off_pattern, difference);
    if (of_high != nullptr) off_high = ir_.CreateOr(off_high, of_high);
    least = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, least, row);
    most = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, most, row);
  }
  Value* has_pattern = ir_.CreateICmpEQ(ir_.CreateOrReduce(off_pattern), ir_.getInt32(0));
  Scan result;
  result.lowest = ir_.CreateIntMinReduce(least, /*IsSigned=*/false);
  result.highest = ir_.CreateIntMaxReduce(most, /*IsSigned=*/false);
  // Not where 32 bits may have wrapped on the way from lane to lane: the addresses do not.
  Value* is_near = ir_.CreateAnd(
      ir_.CreateICmpULE(step, ir_.getInt32(kFarthestStep)),
      ir_.CreateICmpULE(result.highest, ir_.getInt32(~(kFarthestStep * kAddressGroup))));
  result.step = ir_.CreateSelect(ir_.CreateAnd(has_pattern, is_near), step, ir_.getInt32(~0u));
  result.high = high;
  result.is_same = group.has_high ? ir_.CreateICmpEQ(ir_.CreateOrReduce(off_high), ir_.getInt32(0))
                                  : ir_.getTrue();
  return result;
}

Value* MemoryEmitter::check_group(Group& group, Value* exec, Value* is_full) {
  BasicBlock* full = new_block("scan_full");
  BasicBlock* some = new_block("scan_some");
  BasicBlock* done = new_block("scanned");
  ir_.CreateCondBr(is_full, full, some);
  Scan scans[2];
  for (const bool masked : {false, true}) {
    ir_.SetInsertPoint(masked ? some : full);
    scans[masked ? 1 : 0] = scan(group, exec, masked);
    (masked ? some : full) = ir_.GetInsertBlock();
    ir_.CreateBr(done);
  }
  ir_.SetInsertPoint(done);
  const auto join = [&](Value* Scan::*member) {
    llvm::PHINode* value = ir_.CreatePHI((scans[0].*member)->getType(), 2);
    value->addIncoming(scans[0].*member, full);
    value->addIncoming(scans[1].*member, some);
    return value;
  };
  group.lowest = join(&Scan::lowest);
  Value* highest = join(&Scan::highest);
  group.step = join(&Scan::step);
  Value* high = join(&Scan::high);
  Value* is_same = join(&Scan::is_same);

  const auto wide = [&](Value* value) { return ir_.CreateZExt(value, ir_.getInt64Ty()); };
  if (group.space == Space::kLds) {
    Value* end = ir_.CreateAdd(wide(highest), ir_.getInt64(static_cast<uint64_t>(group.end)));
    Value* size = load_field(ir_.getInt32Ty(), offsetof(Wave, lds_bytes));
    group.host = load_field(ir_.getInt64Ty(), offsetof(Wave, lds));
    return ir_.CreateICmpULE(end, wide(size));
  }
  Value* base = group.base != nullptr ? group.base : ir_.CreateShl(wide(high), 32);
  Value* address = ir_.CreateAdd(ir_.CreateAdd(base, wide(group.lowest)),
                                 ir_.getInt64(static_cast<uint64_t>(group.begin)));
  Value* size = ir_.CreateAdd(wide(ir_.CreateSub(highest, group.lowest)),
                              ir_.getInt64(static_cast<uint64_t>(group.end - group.begin)));
  Value* host = emit_translate(ir_, wave_, address, size, group.is_store);
  // As a number: what `low` counts from may be outside of the range.
  group.host = ir_.CreateSub(
      host, ir_.CreateAdd(wide(group.lowest), ir_.getInt64(static_cast<uint64_t>(group.begin))));
  return ir_.CreateAnd(is_same, ir_.CreateICmpNE(host, ir_.getInt64(0)));
}

}  // namespace wavetap::jit
