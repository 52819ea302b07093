// Our counters under AMD's names, where both mean exactly the same.
#pragma once

#include <cstdint>

#include "emu/counters.h"

namespace wavetap::emu {

// Calls f(name, value, help) for each.
template <class F>
void for_each_amd_counter(const Counters& c, F&& f) {
#define WT_AMD_COUNTER(name, value, help) f(#name, uint64_t{value}, help);
#include "emu/amd_counters.inc"
#undef WT_AMD_COUNTER
}

}  // namespace wavetap::emu
