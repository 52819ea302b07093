#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

const VopRow* find_vop_row(Op op) {
  for (const auto find : {find_int_row, find_f32_row, find_f64_row, find_f16_row, find_convert_row,
                          find_trans_row, find_div_row, find_special_row})
    if (const VopRow* row = find(op)) return row;
  return nullptr;
}

}  // namespace

const VopTables& vop_tables() {
  static constexpr VopTables kTables{find_vop_row, find_vopc_row, find_vop3p_row};
  return kTables;
}

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
