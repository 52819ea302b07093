#pragma once

#include <string_view>

#include "isa/inst.h"

namespace wavetap::isa {

// LLVM's name of a register ("VGPR4_VGPR5", "VCC", "SGPR_NULL_gfxpre11", "VGPR7_HI16") as an
// operand: kind, index, dwords, and sel kWord1 for the high half of a VGPR. Kind kNone for what is
// not modelled.
Operand register_operand(std::string_view llvm_name);

}  // namespace wavetap::isa
