// The engine's side of watch.h: the Steps and events that tell watchers.
#pragma once

#include <span>

#include "emu/access.h"
#include "emu/exec.h"
#include "emu/watch_state.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/inst.h"

namespace wavetap::emu {

// The Step of a watched instruction.
void run_watched(Wave& wave, const isa::Inst& inst);
// That of one whose watchers want nothing but before(), or nothing but accessing().
void run_watched_before(Wave& wave, const isa::Inst& inst);
void run_watched_accessing(Wave& wave, const isa::Inst& inst);
// The last with some who screen.
void run_watched_screened(Wave& wave, const isa::Inst& inst);
// The same, made for the instruction where it can be.
Handler screened_step(const WatchedStep& step, bool is_wave64);

// The one funnel of memory accesses: counts them and tells watchers, before anything moves. Called
// through exec/note_access.h, when wave.notes_accesses says so.
void note_access(Wave& wave, const isa::Inst& inst, std::span<const MemoryAccess> accesses);

// Events outside slices; nothing when nobody watches.
void tell_workgroup_began(Workgroup& group);
void tell_workgroup_ended(Workgroup& group);
void tell_wave_ended(Wave& wave);
void tell_barrier_reached(Wave& wave);
void tell_barrier_passed(Workgroup& group);

}  // namespace wavetap::emu
