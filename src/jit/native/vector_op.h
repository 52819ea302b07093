// VectorOp: what the compiler knows of one vector operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/inst.h"
#include "jit/native/lane_builder.h"

namespace wavetap::jit {

enum class Type : uint8_t {
  kNone,
  kU32,
  kF32,
  kU64,
  kF64,
  kF32x2,  // two dwords; of the strip first those of the low results, then those of the high ones
  kU16,    // the low half of 32 bits, or the one that is chosen; the rest is zero
  kI16,    // the same, and the rest is its sign
  kF16,
  kU16x2,  // both halves of each register, one after the other: twice as many elements
  kF16x2,
  kChosen,  // the dword of two that op_sel names
  kMixed,   // a single, or a half that is made one
  kMask,    // a bit per lane; VCC when the instruction names none
  kOldU32,  // the destination's value before
  kOldF32,
  kOldF64,
  kOldF16,
  kOldF16x2,
};

enum class MaskResult : uint8_t {
  kNone,
  kMask,  // besides the value, or alone when there is none
  kExec,  // v_cmpx
};

struct VectorOp {
  static constexpr size_t kMaxSources = 4;
  using Build = llvm::Value* (*)(LaneBuilder& lanes, llvm::Value* const* source);

  isa::Op op = isa::Op::kInvalid;
  Build build = nullptr;  // null result: there is only a mask
  Type result = Type::kNone;
  Type source[kMaxSources] = {};
  MaskResult mask = MaskResult::kNone;
  // A NaN among the sources makes the result NaN; and where the result is not NaN, it is right.
  bool propagates_nan = false;
  bool follows_nan_rule = false;  // of singles: emu/exec/float_ops.h says which NaN a result is
  bool names_numbers = false;     // puts values on LaneBuilder::numbers or doubts
  bool halves_in_place = false;   // of an encoding without op_sel, where signs mean both halves
};

inline bool is_float(Type type) {
  switch (type) {
    case Type::kF32:
    case Type::kF64:
    case Type::kF32x2:
    case Type::kF16:
    case Type::kF16x2:
    case Type::kMixed:
    case Type::kOldF32:
    case Type::kOldF64:
    case Type::kOldF16:
    case Type::kOldF16x2: return true;
    default: return false;
  }
}
inline bool is_wide(Type type) {
  return type == Type::kU64 || type == Type::kF64 || type == Type::kF32x2 ||
         type == Type::kChosen || type == Type::kOldF64;
}
inline bool is_old(Type type) {
  return type == Type::kOldU32 || type == Type::kOldF32 || type == Type::kOldF64 ||
         type == Type::kOldF16 || type == Type::kOldF16x2;
}

inline bool has_halves(Type type) {
  return type == Type::kU16x2 || type == Type::kF16x2 || type == Type::kOldF16x2;
}

}  // namespace wavetap::jit
