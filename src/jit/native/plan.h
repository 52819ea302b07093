// Plan: which instructions become one piece of compiled code, and how each is done.
//
// A block begins at a hot place and goes on through branches that are not taken, until something
// that cannot be foreseen: an unconditional jump, a change of MODE, the end of the kernel. Runs of
// vector operations inside it are segments: what is done strip by strip, see emit_segment.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/inst.h"
#include "jit/backend.h"

namespace wavetap::jit {

enum class Kind : uint8_t {
  kNothing,  // waits and hints
  kScalar,   // scalar_ops.h
  kVector,   // vector_ops.h; a pair of VOPD is one, followed by kNothing
  kMemory,   // memory_ops.h, always in a segment
  kScalarLoad,
  kBranch,  // on SCC, VCC or EXEC, or always, to an instruction of the program
  kCall,    // its handler is called
  kLast,    // the same, and the block ends: it jumps, or changes what the block relies on
};

struct Planned {
  Kind kind = Kind::kCall;
  int32_t segment = -1;  // instructions with the same number are one segment
};

struct Plan {
  int32_t first = 0;           // index in the program
  std::vector<Planned> insts;  // by distance from `first`
  bool is_worthwhile = false;  // compiled code would be quicker than handlers

  int32_t size() const { return static_cast<int32_t>(insts.size()); }
};

Plan plan_block(const BlockRequest& request);

// Where the mask result of a vector operation goes. Masks are pairs of slots in wave64.
struct MaskSlots {
  uint16_t mask = 0;  // first slot, when has_mask
  bool has_mask = false;
  bool to_exec = false;
};
MaskSlots mask_slots(const isa::Inst& inst);
// The first slot of mask operand `k`.
uint16_t mask_source(const isa::Inst& inst, size_t k);

}  // namespace wavetap::jit
