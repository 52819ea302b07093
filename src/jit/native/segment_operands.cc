// Operands and results of a segment's operations.
//
// What an instruction does around its operation is done here: it takes parts of registers (SDWA,
// op_sel), values of other lanes (DPP), signs, and puts the result into a part of a register, or
// into some lanes only. All that works on bits: a value with doubts about NaNs (segment_emitter.h)
// is settled first. Only what a register has as it is passes on unsettled.
#include <algorithm>
#include <vector>

#include "jit/native/emit_parts.h"
#include "jit/native/segment_emitter.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Sel;
using llvm::Value;
namespace slot = isa::slot;

namespace {

// Bits of the selected part, and where it begins.
struct Part {
  uint32_t bits = 32;
  uint32_t shift = 0;
};
Part part_of(Sel sel) {
  switch (sel) {
    case Sel::kDword: return {};
    case Sel::kWord0: return {16, 0};
    case Sel::kWord1: return {16, 16};
    case Sel::kByte0: return {8, 0};
    case Sel::kByte1: return {8, 8};
    case Sel::kByte2: return {8, 16};
    case Sel::kByte3: return {8, 24};
  }
  return {};
}

// The part of `bits`, at the low end.
Value* take_part(LaneBuilder& lanes, Value* bits, const isa::Operand& operand) {
  const Part part = part_of(operand.sel);
  if (part.bits == 32) return bits;
  Value* top = lanes.ir.CreateShl(bits, lanes.splat(32 - part.bits - part.shift));
  Value* by = lanes.splat(32 - part.bits);
  return operand.sext ? lanes.ir.CreateAShr(top, by) : lanes.ir.CreateLShr(top, by);
}

// The register after `bits` was put into a part of it.
Value* put_part(LaneBuilder& lanes, Value* bits, Value* old, const Inst& inst) {
  const Part part = part_of(inst.dst.sel);
  if (part.bits == 32) return bits;
  Value* placed = lanes.ir.CreateShl(bits, lanes.splat(part.shift));
  if (!inst.dst_preserve && inst.dst_sext) {
    Value* top = lanes.ir.CreateShl(bits, lanes.splat(32 - part.bits));
    return lanes.ir.CreateShl(lanes.ir.CreateAShr(top, lanes.splat(32 - part.bits)),
                              lanes.splat(part.shift));
  }
  const uint32_t mask = (part.bits == 16 ? 0xffffu : 0xffu) << part.shift;
  placed = lanes.ir.CreateAnd(placed, lanes.splat(mask));
  if (!inst.dst_preserve) return placed;
  return lanes.ir.CreateOr(placed, lanes.ir.CreateAnd(old, lanes.splat(~mask)));
}

// abs and neg on the bits of a value of 16 or 32 bits.
Value* apply_signs(LaneBuilder& lanes, Value* bits, const isa::Operand& operand, uint32_t sign) {
  if (operand.abs) bits = lanes.ir.CreateAnd(bits, lanes.splat(~sign));
  return operand.neg ? lanes.ir.CreateXor(bits, lanes.splat(sign)) : bits;
}

bool takes_halves_as_they_are(const isa::Operand& operand) {
  return !operand.op_sel && operand.op_sel_hi && !operand.neg && !operand.abs;
}
Value* take_halves(LaneBuilder& lanes, Value* bits, const isa::Operand& operand) {
  if (takes_halves_as_they_are(operand)) return bits;
  Value* high = lanes.ir.CreateLShr(bits, lanes.splat(16u));
  Value* low = lanes.ir.CreateAnd(bits, lanes.splat(0xffffu));
  Value* chosen =
      lanes.ir.CreateOr(operand.op_sel ? high : low,
                        lanes.ir.CreateShl(operand.op_sel_hi ? high : low, lanes.splat(16u)));
  const uint32_t signs = (operand.neg ? 0x8000u : 0) | (operand.abs ? 0x80000000u : 0);
  return signs == 0 ? chosen : lanes.ir.CreateXor(chosen, lanes.splat(signs));
}

}  // namespace

// --- Rows.

Value* SegmentEmitter::row_address(uint32_t reg) {
  Value* index = ir_.CreateAdd(ir_.CreateZExt(lane_, ir_.getInt64Ty()),
                               ir_.getInt64(uint64_t{reg} * wave_lanes_));
  return ir_.CreateGEP(ir_.getInt32Ty(), values_.rows, index);
}

llvm::LoadInst* SegmentEmitter::load_row(uint32_t reg) {
  return ir_.CreateAlignedLoad(lanes_.u32(), row_address(reg),
                               llvm::Align(std::min(lanes_.lanes * 4, 64u)));
}

Value* SegmentEmitter::row_bits(uint32_t reg) {
  note_read(reg);
  Row& row = row_[reg];
  if (row.bits == nullptr) row.bits = load_row(reg);
  return row.bits;
}

// An addend that others have read already, loaded once more. Where the sum takes its place, it would be copied instead, by the
// same units that multiply: with a*b+c and one c for all, half of what they do. Those that load are idle then.
Value* SegmentEmitter::addend_again(const Operation& operation, size_t k) {
  if (!vectors_.overwrites_addend || k != 2 || operation.scalar[k] != nullptr) return nullptr;
  const isa::Operand& operand = source_operand(*operation.inst, k);
  if (operation.inst->op != isa::Op::v_fma_f32 || operand.abs || operand.neg) return nullptr;
  const Row& row = row_[operand.index];
  if (!row.is_read || row.is_written) return nullptr;
  llvm::LoadInst* again = load_row(operand.index);
  again->setVolatile(true);  // or it would be found to be the same
  return ir_.CreateBitCast(again, lanes_.f32());
}

void SegmentEmitter::settle(Row& row) {
  if (row.number == nullptr) return;
  if (std::find(lanes_.numbers.begin(), lanes_.numbers.end(), row.number) == lanes_.numbers.end())
    lanes_.numbers.push_back(row.number);
  row.number = nullptr;
}

Value* SegmentEmitter::settled_bits(uint32_t reg) {
  Value* bits = row_bits(reg);
  settle(row_[reg]);
  return bits;
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

// Lane by lane, of a number or of the two halves of each.
Value* SegmentEmitter::are_ordered(Value* number) {
  Value* ordered = ir_.CreateFCmpORD(number, number);
  if (ordered->getType() == lanes_.vector_of(ir_.getInt1Ty())) return ordered;
  llvm::Type* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), 2 * lanes_.lanes);
  Value* both = ir_.CreateBitCast(ir_.CreateSExt(ordered, halves), lanes_.u32());
  return ir_.CreateICmpEQ(both, lanes_.splat(~0u));
}

// --- Operands.

// A dword of the operand, signs and parts not yet applied.
Value* SegmentEmitter::source_bits(const Operation& operation, size_t k, bool high) {
  if (operation.scalar[k] != nullptr) {
    Value* whole = operation.scalar[k];
    if (high) whole = ir_.CreateLShr(whole, 32);
    return lanes_.splat(ir_.CreateZExtOrTrunc(whole, ir_.getInt32Ty()));
  }
  const Inst& inst = *operation.inst;
  const uint32_t first =
      is_old(operation.op->source[k]) ? inst.dst.index : source_operand(inst, k).index;
  const uint32_t reg = first + (high ? 1u : 0);
  const LanePattern pattern = k == 0 ? lane_pattern(inst) : LanePattern{};
  return pattern.is_used() ? exchanged(pattern, reg) : settled_bits(reg);
}

// What a register has as it is, with its doubts; null when the operand is not that.
Value* SegmentEmitter::number_source(const Operation& operation, size_t k) {
  const Inst& inst = *operation.inst;
  const Type type = operation.op->source[k];
  if (!operation.op->propagates_nan || operation.scalar[k] != nullptr) return nullptr;
  if (k == 0 && lane_pattern(inst).is_used()) return nullptr;
  const isa::Operand& operand = is_old(type) ? inst.dst : source_operand(inst, k);
  const auto known = [&](llvm::Type* as) -> Value* {
    row_bits(operand.index);
    Value* number = row_[operand.index].number;
    return number != nullptr && number->getType() == as ? number : nullptr;
  };
  switch (type) {
    case Type::kF32: return operand.sel == Sel::kDword ? read32(operand.index, true) : nullptr;
    case Type::kOldF32: return read32(operand.index, true);
    case Type::kF64:
    case Type::kOldF64: return read64(operand.index, true);
    case Type::kMixed: return operand.op_sel_hi ? nullptr : read32(operand.index, true);
    case Type::kF16:
      return operand.sel == Sel::kDword || operand.sel == Sel::kWord0 ? known(lanes_.f16())
                                                                      : nullptr;
    case Type::kOldF16: return inst.dst.sel == Sel::kWord1 ? nullptr : known(lanes_.f16());
    case Type::kF16x2: return takes_halves_as_they_are(operand) ? known(lanes_.f16x2()) : nullptr;
    case Type::kOldF16x2: return known(lanes_.f16x2());
    default: return nullptr;
  }
}

// Operands of 16 bits, alone or two of them.
Value* SegmentEmitter::short_source(const Operation& operation, size_t k) {
  const Inst& inst = *operation.inst;
  const Type type = operation.op->source[k];
  Value* bits = source_bits(operation, k, false);
  if (type == Type::kOldF16x2) return ir_.CreateBitCast(bits, lanes_.f16x2());
  isa::Operand operand = is_old(type) ? inst.dst : source_operand(inst, k);
  if (has_halves(type)) {
    bits = take_halves(lanes_, bits, operand);
    return ir_.CreateBitCast(bits, type == Type::kU16x2 ? lanes_.u16x2() : lanes_.f16x2());
  }
  if (type == Type::kMixed) {
    if (operand.op_sel_hi) {
      operand.sel = operand.op_sel ? Sel::kWord1 : Sel::kWord0;
      Value* half = ir_.CreateTrunc(take_part(lanes_, bits, operand), lanes_.u16());
      Value* wide = ir_.CreateFPExt(ir_.CreateBitCast(half, lanes_.f16()), lanes_.f32());
      bits = ir_.CreateBitCast(wide, lanes_.u32());
    }
    return ir_.CreateBitCast(apply_signs(lanes_, bits, operand, 0x80000000u), lanes_.f32());
  }
  if (is_old(type)) {
    if (inst.sdwa) operand.sel = Sel::kDword;
  }
  bits = take_part(lanes_, bits, operand);
  if (!is_old(type)) bits = apply_signs(lanes_, bits, operand, 0x8000u);
  Value* value = ir_.CreateTrunc(bits, lanes_.u16());
  if (type == Type::kU16) return ir_.CreateZExt(value, lanes_.u32());
  if (type == Type::kI16) return ir_.CreateSExt(value, lanes_.u32());
  return ir_.CreateBitCast(value, lanes_.f16());
}

Value* SegmentEmitter::source(const Operation& operation, size_t k) {
  const Inst& inst = *operation.inst;
  const Type type = operation.op->source[k];
  const isa::Operand& operand = source_operand(inst, k);
  if (type == Type::kMask) {
    if (operation.scalar[k] == nullptr) return mask_[mask_source(inst, k)];
    Value* shifted = ir_.CreateLShr(operation.scalar[k], ir_.CreateZExt(lane_, ir_.getInt64Ty()));
    return emit_lane_mask(ir_, ir_.CreateTrunc(shifted, ir_.getIntNTy(lanes_.lanes)));
  }
  if (type == Type::kF32x2) return packed_source(operation, k);
  if (Value* again = addend_again(operation, k)) return again;
  if (Value* number = number_source(operation, k)) {
    if (is_old(type)) return number;
    if (operand.abs) number = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, number);
    return operand.neg ? ir_.CreateFNeg(number) : number;
  }
  switch (type) {
    case Type::kU32:
    case Type::kF32:
    case Type::kOldU32:
    case Type::kOldF32: {
      Value* bits = source_bits(operation, k, false);
      if (!is_old(type))
        bits = apply_signs(lanes_, take_part(lanes_, bits, operand), operand, 0x80000000u);
      return is_float(type) ? ir_.CreateBitCast(bits, lanes_.f32()) : bits;
    }
    case Type::kChosen: {
      Value* bits = source_bits(operation, k, operand.op_sel);
      return operand.neg ? ir_.CreateXor(bits, lanes_.splat(0x80000000u)) : bits;
    }
    case Type::kU64:
    case Type::kF64:
    case Type::kOldF64: {
      if (operation.scalar[k] != nullptr && !operand.abs && !operand.neg) {
        Value* whole = lanes_.splat(operation.scalar[k]);
        return is_float(type) ? ir_.CreateBitCast(whole, lanes_.f64()) : whole;
      }
      Value* high = source_bits(operation, k, true);
      if (!is_old(type)) high = apply_signs(lanes_, high, operand, 0x80000000u);
      Value* whole = lanes_.join(source_bits(operation, k, false), high);
      return is_float(type) ? ir_.CreateBitCast(whole, lanes_.f64()) : whole;
    }
    default: return short_source(operation, k);
  }
}

// Each result takes the dword that op_sel chooses for it; neg and abs negate one each.
Value* SegmentEmitter::packed_source(const Operation& operation, size_t k) {
  const isa::Operand& operand = operation.inst->src[k];
  const auto dword = [&](bool high) {
    if (operation.scalar[k] == nullptr) return read32(operand.index + (high ? 1u : 0), true);
    return ir_.CreateBitCast(source_bits(operation, k, high), lanes_.f32());
  };
  Value* first = dword(operand.op_sel);
  Value* second = dword(operand.op_sel_hi);
  if (operand.neg) first = ir_.CreateFNeg(first);
  if (operand.abs) second = ir_.CreateFNeg(second);
  return lanes_.append(first, second);
}

// --- Results.

// Clamped to [0, 1]; not of NaNs.
Value* SegmentEmitter::limited(Value* value) {
  Value* zero = llvm::Constant::getNullValue(value->getType());
  Value* one = llvm::ConstantFP::get(value->getType(), 1);
  Value* positive = ir_.CreateSelect(ir_.CreateFCmpOGT(value, zero), value, zero);
  return ir_.CreateSelect(ir_.CreateFCmpOGT(value, one), one, positive);
}

void SegmentEmitter::write_row(const Operation& operation, uint32_t reg, Value* bits,
                               Value* number) {
  const Inst& inst = *operation.inst;
  const bool is_part = inst.dst.sel != Sel::kDword;
  const LanePattern pattern = lane_pattern(inst);
  Value* written = pattern.is_used() ? lanes_written(pattern) : nullptr;
  if (!is_part && written == nullptr) {
    set_row(reg, bits, number, operation);
    return;
  }
  Row result{nullptr, number};
  settle(result);
  Value* old = is_part && !inst.dst_preserve && written == nullptr ? nullptr : settled_bits(reg);
  bits = put_part(lanes_, bits, old, inst);
  set_row(reg, written == nullptr ? bits : ir_.CreateSelect(written, bits, old), nullptr,
          operation);
}

void SegmentEmitter::write(const Result& result) {
  const Inst& inst = *result.operation->inst;
  const VectorOp& op = *result.operation->op;
  if (result.mask != nullptr) {
    const MaskSlots slots = mask_slots(inst);
    Value* mask = result.mask;
    const LanePattern pattern = lane_pattern(inst);
    if (Value* written = pattern.is_used() ? lanes_written(pattern) : nullptr)
      mask = ir_.CreateAnd(mask, written);
    if (slots.has_mask) mask_[slots.mask] = mask;
    if (slots.to_exec) mask_[slot::kExecLo] = mask;
  }
  if (op.result == Type::kNone) return;
  Value* value = result.value;
  Value* number = op.propagates_nan && !result.has_right_nans ? value : nullptr;
  if (inst.clamp) {
    if (number != nullptr && op.result == Type::kF32x2)
      for (const bool high : {false, true}) lanes_.numbers.push_back(lanes_.part_of(value, high));
    else if (number != nullptr) lanes_.numbers.push_back(number);
    value = limited(value);
    number = nullptr;
  }
  const uint32_t reg = inst.dst.index;
  switch (op.result) {
    case Type::kF32x2:
      for (const bool high : {false, true}) {
        Value* part = lanes_.part_of(value, high);
        write_row(*result.operation, reg + (high ? 1u : 0), ir_.CreateBitCast(part, lanes_.u32()),
                  number == nullptr ? nullptr : part);
      }
      return;
    case Type::kU64:
    case Type::kF64: {
      Value* bits = ir_.CreateBitCast(value, lanes_.u64());
      write_row(*result.operation, reg, lanes_.half_of(bits, false), number);
      write_row(*result.operation, reg + 1u, lanes_.half_of(bits, true), number);
      return;
    }
    case Type::kF16: {
      Value* bits = ir_.CreateZExt(ir_.CreateBitCast(value, lanes_.u16()), lanes_.u32());
      return write_row(*result.operation, reg, bits, number);
    }
    case Type::kU16:
      return write_row(*result.operation, reg, ir_.CreateAnd(value, lanes_.splat(0xffffu)),
                       nullptr);
    default:
      return write_row(*result.operation, reg, ir_.CreateBitCast(value, lanes_.u32()), number);
  }
}

}  // namespace wavetap::jit
