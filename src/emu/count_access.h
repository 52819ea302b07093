// Counters of memory accesses: what only addresses tell. count.h counts the instructions themselves.
#pragma once

#include <span>

#include "emu/access.h"
#include "emu/counters.h"

namespace wavetap::emu {

// Adds the accesses of one instruction.
void count_accesses(Counters& counters, std::span<const MemoryAccess> accesses);

}  // namespace wavetap::emu
