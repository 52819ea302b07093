// Plan: which instructions become one piece of compiled code, and how each is done.
//
// A piece begins at a hot place and has everything that can be reached from there by going on and by
// branches, as long as it lies behind that place and not too far: loops and what is skipped stay
// inside. A way ends at something that cannot be foreseen: a computed jump, a change of MODE, a
// barrier, the end of the kernel. Where branches lead to, a run begins; it ends where the next one
// begins. Vector operations that follow each other inside a run are segments: what is done strip by
// strip, see segment_emitter.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "isa/inst.h"
#include "jit/backend.h"

namespace wavetap::jit {

enum class Kind : uint8_t {
  kNothing,  // waits and hints
  kScalar,   // scalar_ops.h
  kVector,   // vector_ops.h; a pair of VOPD is one, followed by kNothing
  kMemory,   // memory_ops.h, always in a segment
  kLane,     // lane_ops.h
  kScalarLoad,
  kBranch,   // on SCC, VCC or EXEC, or always, to an instruction of the program
  kFence,    // orders memory
  kCall,     // its handler is called
  kLast,     // the same, and the way ends: it jumps, or changes what the code relies on
  kLeave,    // not done here: the way ends before it
  kSkipped,  // nothing leads here
};

struct Planned {
  Kind kind = Kind::kCall;
  int32_t segment = -1;  // instructions with the same number are one segment
  bool begins_run = false;
  bool ends_turn = false;  // waves wait for each other before it; a run begins there
};

// A register, or two, whose values are followed between segments: address_facts.h.
struct FactRoot {
  static constexpr uint32_t kNone = ~0u;
  uint32_t low;
  uint32_t high = kNone;
  bool is_pair() const { return high != kNone; }
  auto operator<=>(const FactRoot&) const = default;
};

struct Plan {
  int32_t first = 0;           // index in the program
  std::vector<Planned> insts;  // by distance from `first`
  std::set<FactRoot> roots;    // registers whose addresses are known before segments
  bool is_worthwhile = false;  // compiled code would be quicker than handlers

  int32_t size() const { return static_cast<int32_t>(insts.size()); }
  const Planned& at(int32_t i) const { return insts[static_cast<size_t>(i)]; }
  bool has(int32_t i) const { return i >= 0 && i < size() && at(i).kind != Kind::kSkipped; }
  // Where the run that begins at `begin` ends.
  int32_t end_of_run(int32_t begin) const;
};

Plan plan_block(const BlockRequest& request);

// Vector registers that instructions [begin, end) of a plan may change.
struct WrittenRows {
  std::set<uint32_t> rows;
  bool may_be_any = false;  // by handlers that are called
};
WrittenRows written_rows(const BlockRequest& request, const Plan& plan, int32_t begin, int32_t end);

void find_segments(const BlockRequest& request, Plan& plan);

// Where the mask result of a vector operation goes. Masks are pairs of slots in wave64.
struct MaskSlots {
  uint16_t mask = 0;  // first slot, when has_mask
  bool has_mask = false;
  bool to_exec = false;
};
// Whether a handler that is called may change vector registers.
bool may_write_rows(const isa::Inst& inst);
MaskSlots mask_slots(const isa::Inst& inst);
// The first slot of mask operand `k`.
uint16_t mask_source(const isa::Inst& inst, size_t k);

}  // namespace wavetap::jit
