// A proof, made once for a program, that all its waits are there: on no way through it is a register used
// while a load may still be on its way to it. Compilers place waits by the same reasoning, so that nearly
// all code can be proved, and waitcheck then has nothing to watch.
//
// The rules are waitcheck's own (waitcheck.h), with the worst case where a run decides: every branch is
// taken and not taken, a flat instruction needs both its counters, all lanes are active, a register is used
// whole. What cannot be proved is not wrong: such a program is watched while it runs.
#pragma once

#include "isa/program.h"

namespace wavetap::sanitize {

// False: it has not been proved. Calls of functions and indexed registers are not followed.
bool has_all_waits(const isa::Program& program);

}  // namespace wavetap::sanitize
