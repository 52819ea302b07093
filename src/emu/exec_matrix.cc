// Matrix instructions: MFMA and SMFMAC (CDNA), WMMA (gfx11).
#include "emu/exec.h"

namespace wavetap::emu {

Handler find_matrix(const isa::Inst&, Shape) { return nullptr; }

}  // namespace wavetap::emu
