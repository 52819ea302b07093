// Instructions that tell hardware something and change nothing a program can see.
#pragma once

#include "isa/inst.h"

namespace wavetap::jit {

inline bool does_nothing(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_setprio:
    case Op::s_clause:
    case Op::s_inst_prefetch:
    case Op::s_delay_alu: return true;
    default: return false;
  }
}

}  // namespace wavetap::jit
