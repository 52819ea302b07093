// Which lanes and registers the operands of an instruction are, where DPP, VGPR indexing or a
// swizzle decides that.
#pragma once

#include <cstdint>

#include "emu/wave.h"
#include "isa/inst.h"

namespace wavetap::emu {

// DPP: the lane that each lane reads its first source from.
struct DppLanes {
  int8_t from[64];  // 0 when there is none
  uint64_t exists;  // bit per lane: there is one
};
const DppLanes& dpp16_lanes(uint16_t control);
DppLanes dpp8_lanes(uint32_t selectors);

// The lanes that row_mask and bank_mask let be written.
uint64_t dpp_write_mask(const isa::Inst& inst);

// VGPR indexing (gfx9, s_set_gpr_idx_on): adds M0 to the VGPR numbers that the mode names. A source
// outside the wave's registers reads v0, a destination outside is not written: false.
bool index_registers(const Wave& wave, isa::Inst& inst);

// Which lane of its group of 32 a lane reads (MI200 ISA guide, DS_SWIZZLE_B32).
uint32_t swizzle_source(uint32_t lane, uint32_t offset);

}  // namespace wavetap::emu
