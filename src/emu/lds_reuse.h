// Where the waves of a workgroup depend on how far one of them runs ahead.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace wavetap::emu {

// Before which instructions a wave's turn ends, so that the others of its workgroup come as far: a
// flag for each, or nothing at all.
//
// Where there is a way through `program` that reads LDS and then writes it with no barrier between,
// what one wave reads may depend on whether another has already written. GPUs run waves side by
// side, and kernels that lack a barrier get away with it. So there a turn ends before a write that
// may follow a read or a barrier, behind which others may still read, and before a read that may
// follow a write. Code outside the program may do anything.
std::vector<uint8_t> find_turn_ends(const isa::Program& program);

}  // namespace wavetap::emu
