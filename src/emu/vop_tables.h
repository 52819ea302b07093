// The tables of vector operations, by theme. Each function returns the row of `op` or null.
#pragma once

#include "emu/vop.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT namespace WT_VOP_VARIANT {

const VopRow* find_int_row(Op op);      // exec_vop_int.cc
const VopRow* find_f32_row(Op op);      // exec_vop_f32.cc

// All of the above.
const VopRow* find_vop_row(Op op);      // vop_tables.cc
const VopRow* find_vopc_row(Op op);     // exec_vopc.cc
const VopRow* find_vop3p_row(Op op);    // exec_vop3p.cc

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
