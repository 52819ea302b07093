// The interpreter loop.
#pragma once

#include <cstdint>

#include "emu/lower.h"
#include "emu/wave.h"

namespace wavetap::emu {

// Runs at most wave.budget (at least one) instructions, until the wave stops or its budget is
// zeroed. Counts when the workgroup is counted (wave.watch). Takes no lock and owns no memory: it
// may be abandoned by longjmp.
void run_slice(Wave& wave);

// What a slice does behind its first step.
void finish_plain_slice(Wave& wave);

// The same as run_slice() of a wave that is not counted. Where compiled code runs to the next barrier its
// first step is all of it: it is here so that nothing else is done then.
inline void run_plain_slice(Wave& wave) {
  const int32_t pc = wave.slice_begin = wave.pc;
  const Step& step = wave.steps[pc];
  wave.extra = wave.done = 0;
  wave.pc = pc + 1;
  step.load()(wave, *step.inst);
  if (wave.extra != 0 && wave.budget <= 1) wave.executed += static_cast<uint64_t>(wave.extra) + 1;
  else finish_plain_slice(wave);
}

}  // namespace wavetap::emu
