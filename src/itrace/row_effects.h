// What the instruction of a row does to wait counters, from its text: all that a foreign trace tells.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/wait_counters.h"
#include "itrace/trace.h"

namespace wavetap::itrace {

std::vector<isa::WaitEffect> row_effects(const Trace& trace);

}  // namespace wavetap::itrace
