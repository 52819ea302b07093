// Matrix instructions by group; the semantics are in exec/mfma.cc, exec/smfmac.cc and exec/wmma.cc,
// what they share in matrix.h. The moves to and from accumulation registers are in
// exec/cross_lane.cc.
// They may be there a second time, for hosts that can do more (CMakeLists.txt).
#include "emu/exec/matrix_op.h"
#include "emu/exec/vop_row.h"

namespace wavetap::emu {

#define WT_MATRIX_FINDERS                                   \
  MatrixOp find_mfma(const isa::Inst& inst, Shape shape);   \
  MatrixOp find_smfmac(const isa::Inst& inst, Shape shape); \
  MatrixOp find_wmma(const isa::Inst& inst, Shape shape);
inline namespace baseline {
namespace matrix {
WT_MATRIX_FINDERS
}
}  // namespace baseline
#ifdef WT_VOP_HAS_X86_64_V3
namespace x86_64_v3::matrix {
WT_MATRIX_FINDERS
}
#endif
#undef WT_MATRIX_FINDERS

namespace {

using Finder = MatrixOp (*)(const isa::Inst& inst, Shape shape);

MatrixOp find_op(const isa::Inst& inst, Shape shape) {
  static constexpr Finder kBaseline[] = {baseline::matrix::find_mfma, baseline::matrix::find_smfmac,
                                         baseline::matrix::find_wmma};
  const Finder* finders = kBaseline;
#ifdef WT_VOP_HAS_X86_64_V3
  static constexpr Finder kV3[] = {x86_64_v3::matrix::find_mfma, x86_64_v3::matrix::find_smfmac,
                                   x86_64_v3::matrix::find_wmma};
  if (host_has_x86_64_v3()) finders = kV3;
#endif
  for (int i = 0; i < 3; ++i)
    if (const MatrixOp op = finders[i](inst, shape); op.run != nullptr) return op;
  return {};
}

}  // namespace

Handler find_matrix(const isa::Inst& inst, Shape shape) { return find_op(inst, shape).run; }
uint32_t matrix_flops(const isa::Inst& inst, Shape shape) { return find_op(inst, shape).flops; }

}  // namespace wavetap::emu
