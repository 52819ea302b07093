// The vector operations that are compiled; every other one is done by its handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/inst.h"
#include "jit/native/vector_op.h"

namespace wavetap::jit {

// Which lane each reads its first source from: DPP, and operations that do nothing else.
struct LanePattern {
  unsigned group = 1;       // lanes that exchange values begin at multiples of this: 16, 32 or 64
  int from[64] = {};        // of the first group on; -1: nothing, which counts as zero
  bool only_active = true;  // lanes that are off count as zero
  bool keeps_rest = false;  // lanes that read nothing are not written
  uint64_t written = ~uint64_t{0};  // the others are not

  bool is_used() const { return group > 1; }
};
LanePattern lane_pattern(const isa::Inst& inst);

const VectorOp* find_vector_op(isa::Op op);
// Those of 16 bits, sorted. short_vector_ops.cc
std::span<const VectorOp> short_vector_ops();

// The operation of `inst`, when its operands and modifiers are such that it is compiled.
const VectorOp* compiled_vector_op(const isa::Inst& inst);

// Operand `k`, wherever the instruction has it.
const isa::Operand& source_operand(const isa::Inst& inst, size_t k);

}  // namespace wavetap::jit
