// The tables of vector operations, by theme. Each function returns the operation's row or null.
#pragma once

#include "emu/exec/vop.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {

const VopRow* find_int_row(Op op);      // exec/vop_int.cc
const VopRow* find_f32_row(Op op);      // exec/vop_f32.cc
const VopRow* find_f64_row(Op op);      // exec/vop_f64.cc
const VopRow* find_f16_row(Op op);      // exec/vop_f16.cc
const VopRow* find_convert_row(Op op);  // exec/vop_convert.cc
const VopRow* find_trans_row(Op op);    // exec/vop_trans.cc
const VopRow* find_div_row(Op op);      // exec/vop_div.cc
const VopRow* find_special_row(Op op);  // exec/vop_special.cc

const VopRow* find_vopc_row(Op op);              // exec/vopc.cc
const VopRow* find_vop3p_row(const Inst& inst);  // exec/vop3p.cc

// All of the above, in this variant. vop_tables.cc
const VopTables& vop_tables();

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
