// The part of find_sop() that lives in its own file.
#pragma once

#include "emu/exec.h"

namespace wavetap::emu {

// exec/sop_state.cc: EXEC, the program counter, MODE, indexed registers.
Handler find_sop_state(const isa::Inst& inst, Shape shape);

}  // namespace wavetap::emu
