// What instructions mean to racecheck.
#pragma once

#include "isa/inst.h"
#include "isa/program.h"

namespace wavetap::sanitize {

bool accesses_memory(const isa::Inst& inst);
// A load that goes past the nearest cache, or an atomic: the ways to read a flag that others set.
bool is_flag_access(const isa::Inst& inst);
// The caches that it empties, of those that a load of what another workgroup stored goes through: bits, of
// caches_to_empty().
uint8_t emptied_caches(const isa::Inst& inst);
uint8_t caches_to_empty(const isa::Program& program);
bool is_grid_barrier(isa::Op op);
// Compare-and-swap or exchange.
bool is_lock_operation(isa::Op op);
// s_waitcnt and its kin, when no store of the wave is under way afterwards.
bool waits_for_stores(const isa::Inst& inst, const isa::Program& program);

// Whether anything in this code may order workgroups with each other. Calls count: what they lead to is
// not known.
bool orders_workgroups(const isa::Program& program);
// Whether anything but barriers may order the waves of a workgroup.
bool orders_waves(const isa::Program& program);
// Whether anything in it may read LDS as a flag with a load: flat ones, which is how volatile variables are read.
bool may_load_lds_flags(const isa::Program& program);

}  // namespace wavetap::sanitize
