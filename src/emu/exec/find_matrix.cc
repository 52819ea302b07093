// Matrix instructions by group; the semantics are in exec/mfma.cc, exec/smfmac.cc and exec/wmma.cc,
// what they share in matrix.h. The moves to and from accumulation registers are in
// exec/cross_lane.cc.
#include "emu/exec/matrix.h"

namespace wavetap::emu {

Handler find_matrix(const isa::Inst& inst, Shape shape) {
  for (const auto find : {matrix::find_mfma, matrix::find_smfmac, matrix::find_wmma})
    if (const Handler handler = find(inst, shape)) return handler;
  return nullptr;
}

}  // namespace wavetap::emu
