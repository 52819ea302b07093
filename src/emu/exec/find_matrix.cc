// Matrix instructions by group; the semantics are in exec/mfma.cc, exec/smfmac.cc and exec/wmma.cc,
// what they share in matrix.h. The moves to and from accumulation registers are in
// exec/cross_lane.cc.
#include "emu/exec/matrix.h"

namespace wavetap::emu {

namespace {

matrix::MatrixOp find_op(const isa::Inst& inst, Shape shape) {
  for (const auto find : {matrix::find_mfma, matrix::find_smfmac, matrix::find_wmma})
    if (const matrix::MatrixOp op = find(inst, shape); op.run != nullptr) return op;
  return {};
}

}  // namespace

Handler find_matrix(const isa::Inst& inst, Shape shape) { return find_op(inst, shape).run; }
uint32_t matrix_flops(const isa::Inst& inst, Shape shape) { return find_op(inst, shape).flops; }

}  // namespace wavetap::emu
