// Whether the waves of a workgroup depend on how far one of them runs ahead.
#pragma once

#include "isa/program.h"

namespace wavetap::emu {

// Whether there is a way through `program`, from its first instruction on, that reads LDS and then
// writes it with no barrier between. Where waves do so, what one reads may depend on whether
// another has already written. Code outside the program may do anything.
bool overwrites_read_lds(const isa::Program& program);

}  // namespace wavetap::emu
