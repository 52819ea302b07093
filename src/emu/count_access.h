// Counters of memory accesses: what only addresses tell. count.h counts the instructions themselves.
#pragma once

#include <span>

#include "amd/gfx_target.h"
#include "emu/access.h"
#include "emu/counters.h"

namespace wavetap::emu {

// Adds the accesses of one instruction.
void count_accesses(Counters& counters, std::span<const MemoryAccess> accesses,
                    amd::GfxTarget target);

}  // namespace wavetap::emu
