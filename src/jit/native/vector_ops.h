// The vector operations that are compiled; every other one is done by its handler.
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
  kF32x2,   // two dwords; of the strip first those of the low results, then those of the high ones
  kMask,    // a bit per lane; VCC when the instruction names none
  kOldU32,  // the destination's value before
  kOldF32,
  kOldF64,
};

enum class MaskResult : uint8_t {
  kNone,
  kMask,  // besides the value, or alone when there is none
  kExec,  // v_cmpx
};

struct VectorOp {
  static constexpr size_t kMaxSources = 3;
  using Build = llvm::Value* (*)(LaneBuilder& lanes, llvm::Value* const* source);

  isa::Op op = isa::Op::kInvalid;
  Build build = nullptr;  // null result: there is only a mask
  Type result = Type::kNone;
  Type source[kMaxSources] = {};
  MaskResult mask = MaskResult::kNone;
  // A NaN among the sources makes the result NaN; and where the result is not NaN, it is right.
  bool propagates_nan = false;
  bool names_numbers = false;  // puts values on LaneBuilder::numbers
};

const VectorOp* find_vector_op(isa::Op op);

// The operation of `inst`, when its operands and modifiers are such that it is compiled.
const VectorOp* compiled_vector_op(const isa::Inst& inst);

inline bool is_float(Type type) {
  return type == Type::kF32 || type == Type::kF64 || type == Type::kF32x2 ||
         type == Type::kOldF32 || type == Type::kOldF64;
}
inline bool is_wide(Type type) {
  return type == Type::kU64 || type == Type::kF64 || type == Type::kF32x2 || type == Type::kOldF64;
}
inline bool is_old(Type type) {
  return type == Type::kOldU32 || type == Type::kOldF32 || type == Type::kOldF64;
}

}  // namespace wavetap::jit
