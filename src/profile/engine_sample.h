// Samples of dispatches that our engine ran: counters under their names.
#pragma once

#include "amd/gfx_target.h"
#include "cachesim/counters.h"
#include "emu/counters.h"
#include "profile/sample.h"

namespace wavetap::profile {

void add_counters(const emu::Counters& counters, Sample& sample);
void add_memory(const cachesim::MemoryResult& result, amd::GfxTarget target, Sample& sample);

}  // namespace wavetap::profile
