#include "jit/backend.h"

#include "emu/compiler.h"
#include "emu/wave.h"

namespace wavetap::jit {

// Both sides are built from the same tree, but files can be exchanged one by one.
uint64_t backend_version() {
  using emu::Wave;
  const uint64_t parts[] = {6,
                            sizeof(Wave),
                            sizeof(isa::Inst),
                            offsetof(Wave, scc),
                            offsetof(Wave, state),
                            offsetof(Wave, mode),
                            offsetof(Wave, vgpr_index),
                            offsetof(Wave, v),
                            offsetof(Wave, compiled_state),
                            offsetof(Wave, pc),
                            offsetof(Wave, budget),
                            offsetof(Wave, done),
                            offsetof(Wave, extra),
                            offsetof(Wave, executed),
                            emu::kCompiledStateBytes,
                            offsetof(Wave, handlers),
                            offsetof(Wave, lds_bytes),
                            offsetof(Wave, lds),
                            offsetof(Wave, turn_ends_left),
                            offsetof(Wave, has_ended_turn),
                            offsetof(Wave, has_others),
                            offsetof(Wave, dispatch),
                            offsetof(Wave, tlb),
                            sizeof(emu::Tlb),
                            offsetof(emu::Dispatch, memory),
                            offsetof(emu::Dispatch, sram_ecc),
                            static_cast<uint64_t>(isa::Op::kCount)};
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint64_t part : parts) hash = (hash ^ part) * 0x100000001b3u;
  return hash;
}

}  // namespace wavetap::jit
