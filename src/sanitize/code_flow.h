// Where a wave goes on after an instruction, for those who follow the ways through a program.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/inst.h"

namespace wavetap::sanitize {

// kEnd: it ends, or goes on in code that is not this program's.
enum class Flow : uint8_t { kNext, kJump, kEither, kEnd };

inline Flow flow_of(const isa::Inst& inst) {
  using isa::Op;
  switch (inst.op) {
    case Op::s_branch: return Flow::kJump;
    case Op::kInvalid:
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_setpc_b64:
    case Op::s_swappc_b64:
    case Op::s_call_b64:
    case Op::s_rfe_b64:
    case Op::s_trap: return Flow::kEnd;
    default: break;
  }
  const std::string_view name = isa::op_name(inst.op);
  return inst.family != isa::Family::kVop && name.starts_with("s_cbranch_") ? Flow::kEither
                                                                            : Flow::kNext;
}

// It goes on in another function, or at a place that shows when it runs.
inline bool leaves_program(const isa::Inst& inst) {
  using isa::Op;
  switch (inst.op) {
    case Op::s_setpc_b64:
    case Op::s_swappc_b64:
    case Op::s_call_b64:
    case Op::s_rfe_b64: return true;
    default: break;
  }
  const Flow flow = flow_of(inst);
  return (flow == Flow::kJump || flow == Flow::kEither) && inst.target < 0;
}

}  // namespace wavetap::sanitize
