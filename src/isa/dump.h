#pragma once

#include <string>

#include "isa/inst.h"

namespace wavetap::isa {

// One line that shows every field of `inst` that is not at its default, for golden tests and for
// people: "v_add_f32 v0 = -v1, |v2| clamp". Registers print as s4, v[2:3], a1, vcc, exec, m0;
// immediates as #hex/dwords.
std::string dump(const Inst& inst);
std::string dump(const Operand& operand);

}  // namespace wavetap::isa
