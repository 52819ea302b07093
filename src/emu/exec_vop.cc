// Chooses the handler of a vector operation: by its modifiers, by the target, and by what the host's
// processor can do (the tables may be built for several instruction sets, see CMakeLists.txt).
#include "emu/vop_tables.h"

namespace wavetap::emu {
namespace {

bool has_modifiers(const Inst& inst) {
  if (inst.clamp || inst.omod != 0 || inst.sdwa || inst.dpp != isa::Dpp::kNone) return true;
  if (inst.dst.sel != isa::Sel::kDword) return true;
  for (const Operand& operand : inst.src)
    if (operand.neg || operand.abs || operand.sext || operand.sel != isa::Sel::kDword) return true;
  return false;
}

Handler choose(const VopRow* row, const Inst& inst, Shape shape) {
  if (row == nullptr) return nullptr;
  const bool is_16_bit = row->plain_keep != nullptr;
  const bool keep = is_16_bit && (shape.target.major >= 10 || row->keeps_high_on_gfx9);
  // Clamp on an integer result means saturation, which is an operation of its own.
  if (inst.clamp && row->saturating != nullptr) return keep ? row->saturating_keep : row->saturating;
  if (has_modifiers(inst)) return keep ? row->generic_keep : row->generic;
  return keep ? row->plain_keep : row->plain;
}

}  // namespace

Handler find_vop(const Inst& inst, Shape shape) { return choose(find_vop_row(inst.op), inst, shape); }

Handler find_vopc(const Inst& inst, Shape shape) { return choose(find_vopc_row(inst.op), inst, shape); }

Handler find_vop3p(const Inst&, Shape) { return nullptr; }

}  // namespace wavetap::emu
