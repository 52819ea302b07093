// The interpreter loop.
#pragma once

namespace wavetap::emu {

struct Wave;

// Runs at most wave.budget (at least one) instructions, until the wave stops or its budget is
// zeroed. Counts when the workgroup is counted (wave.watch). Takes no lock and owns no memory: it
// may be abandoned by longjmp.
void run_slice(Wave& wave);

}  // namespace wavetap::emu
