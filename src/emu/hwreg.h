// The hardware registers that s_getreg and s_setreg reach.
#pragma once

#include <cstdint>

namespace wavetap::emu {

struct Wave;

// Value of register `id` as a program sees it; registers the target lacks read as zero.
uint32_t read_hwreg(const Wave& wave, uint32_t id);
// Replaces the bits of `mask` by those of `value`. Bits and registers a program may not change keep
// their value, as on hardware without privilege.
void write_hwreg(Wave& wave, uint32_t id, uint32_t value, uint32_t mask);

// MODE, to and from the fields handlers use.
uint32_t mode_register(const Wave& wave);
void set_mode_register(Wave& wave, uint32_t value);
// MODE.GPR_IDX_EN (gfx9); M0[15:12] says which operands are indexed.
void set_gpr_index_mode(Wave& wave, bool on);

// The clock that s_memtime and SHADER_CYCLES count: ten times the constant-rate clock, so that it
// looks like a core clock of 1 GHz. Without a host it counts the wave's own instructions.
uint64_t core_clock(const Wave& wave);

}  // namespace wavetap::emu
