// From a decoded instruction to the function that performs it.
//
// Each file of exec/ implements one encoding family and exports one find function. It may pick a
// specialised function from the operands (all VGPRs, no modifiers, EXEC unknown), since lowering
// happens once per static instruction. Null means: no semantics; executing it is an kUnimplemented
// fault, and `wavetap gpu coverage` lists it.
#pragma once

#include "amd/gfx_target.h"
#include "isa/inst.h"

namespace wavetap::emu {

struct Wave;
using Handler = void (*)(Wave& wave, const isa::Inst& inst);

struct Shape {
  amd::GfxTarget target;
  bool wave64 = true;
  bool sram_ecc = false;  // Dispatch::sram_ecc
};

// clang-format off
Handler find_sop(const isa::Inst& inst, Shape shape);         // exec/sop.cc          SOP1 SOP2 SOPK SOPC
Handler find_sopp(const isa::Inst& inst, Shape shape);        // exec/sopp.cc         branches, barriers
Handler find_smem(const isa::Inst& inst, Shape shape);        // exec/smem.cc
Handler find_vop(const isa::Inst& inst, Shape shape);         // exec/find_vop.cc     and the vop_*.cc
Handler find_vopc(const isa::Inst& inst, Shape shape);        // exec/vopc.cc
Handler find_vop3p(const isa::Inst& inst, Shape shape);       // exec/vop3p.cc        packed, dot, mixed
Handler find_cross_lane(const isa::Inst& inst, Shape shape);  // exec/cross_lane.cc   readlane, permlane
Handler find_matrix(const isa::Inst& inst, Shape shape);      // exec/find_matrix.cc  MFMA, WMMA
Handler find_vopd(const isa::Inst& inst, Shape shape);        // exec/vopd.cc
Handler find_ds(const isa::Inst& inst, Shape shape);          // exec/ds.cc
Handler find_flat(const isa::Inst& inst, Shape shape);        // exec/flat.cc         flat, global, scratch
Handler find_mubuf(const isa::Inst& inst, Shape shape);       // exec/mubuf.cc
Handler find_image(const isa::Inst& inst, Shape shape);       // exec/image.cc
// clang-format on
Handler find_image_sample(const isa::Inst& inst);  // exec/image_sample.cc

// Multiplications and additions of a matrix instruction, over the whole wave. exec/find_matrix.cc
uint32_t matrix_flops(const isa::Inst& inst, Shape shape);

// Asks the finder of the instruction's family. lower.cc.
Handler find_handler(const isa::Inst& inst, Shape shape);

}  // namespace wavetap::emu
