// How AMD's counters by kind of arithmetic see an instruction. Decided once per static instruction.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"
#include "cachesim/counters.h"
#include "isa/inst.h"

namespace wavetap::cachesim {

struct InstructionKind {
  // The counter it belongs to, and what each execution adds; null: none.
  uint64_t InstructionCounters::*counter = nullptr;
  uint64_t weight = 1;
  uint64_t InstructionCounters::*memory = nullptr;  // loads and stores: SQ_INSTS_VMEM_RD or WR
  bool is_flat = false;
};
InstructionKind kind_of(const isa::Inst& inst, amd::GfxTarget target, bool wave64);

// How many of each kind of memory instruction may be under way when a wait is over; 255: any.
struct WaitLimits {
  uint8_t vmem = 255;
  uint8_t lgkm = 255;
};
// False: waits for nothing that we follow.
bool wait_limits(const isa::Inst& inst, amd::GfxTarget target, WaitLimits* limits);

// Where flow may go on elsewhere than at the next instruction.
bool ends_block(const isa::Inst& inst);

}  // namespace wavetap::cachesim
