// Which vector operations produce 16 bits, and what becomes of the other half of the register.
#pragma once

#include "amd/gfx_target.h"
#include "isa/inst.h"

namespace wavetap::isa {

// True when the operation's VGPR result is 16 bits wide (v_add_f16, v_cvt_f16_f32; not
// v_cvt_f32_f16, not packed operations).
bool writes_half(Op op);

// What happens to bits 31:16 when a 16-bit result goes to the low half: true, they keep their
// value; false, they become zero. gfx10 and later always keep them. On gfx9 most operations clear
// them; the ones new or changed in gfx9 keep them.
bool keeps_high_half(Op op, amd::GfxTarget target);

}  // namespace wavetap::isa
