// Verified blocks: compiled code and handlers, one after the other from the same state, compared.
//
// A block that is verified contains nothing that cannot be done twice (BlockRequest::is_verified):
// its stores, atomics and messages are left to their handlers, behind it. What compiled code would do
// for those is call the same handlers anyway. The first difference stops the wave with a fault that
// names it.
#pragma once

#include <cstdint>

#include "emu/exec.h"
#include "isa/inst.h"

namespace wavetap::jit {

// The handler to publish for the block that begins with `inst`, in the place of `compiled`.
emu::Handler verified(const isa::Inst& inst, emu::Handler compiled);
// Forgets it.
void forget_verified(const isa::Inst& inst);

}  // namespace wavetap::jit
