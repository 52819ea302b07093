// Chooses the handler of a vector operation: by its modifiers, by the target, and by what the
// host's processor can do (CMakeLists.txt builds tables a second time: for amd64 with AVX2 and FMA,
// and that of packed operations for arm64 with arithmetic on halves).
#ifdef WT_VOP_HAS_ARM64_FP16
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <iterator>

#include "emu/exec/vop_row.h"
#include "isa/inst.h"

namespace wavetap::emu {

inline namespace baseline {
const VopTables& vop_tables();
}
#ifdef WT_VOP_HAS_X86_64_V3
namespace x86_64_v3 {
const VopTables& vop_tables();
}
#endif
#ifdef WT_VOP_HAS_ARM64_FP16
namespace arm64_fp16 {
const VopRow* find_vop3p_row(const isa::Inst& inst);
}
#endif

#ifdef WT_VOP_HAS_X86_64_V3
bool host_has_x86_64_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
#endif

namespace {

using isa::Inst;
using isa::Operand;
using isa::OperandKind;

const VopTables& best_tables() {
#ifdef WT_VOP_HAS_X86_64_V3
  if (host_has_x86_64_v3()) return x86_64_v3::vop_tables();
#endif
  return baseline::vop_tables();
}

const VopRow* best_vop3p_row(const Inst& inst) {
#ifdef WT_VOP_HAS_ARM64_FP16
  constexpr unsigned long kHalfVectors = 1ul << 10;  // HWCAP_ASIMDHP
  if ((getauxval(AT_HWCAP) & kHalfVectors) != 0) return arm64_fp16::find_vop3p_row(inst);
#endif
  return best_tables().vop3p(inst);
}

// The plain runner takes packed operands with both halves in place, and any choice of dwords.
bool is_plain(const Operand& operand, const VopRow& row) {
  if (operand.kind == OperandKind::kNone) return true;
  if (row.pack == Pack::kMixed) return false;
  if (row.pack == Pack::kHalves && (operand.op_sel || !operand.op_sel_hi)) return false;
  if ((operand.neg || operand.abs) && !row.plain_signs) return false;
  return !operand.sext && operand.sel == isa::Sel::kDword;
}

// A 16-bit result whose register keeps its upper half: no modifier, but how gfx10 and later write.
bool writes_low_half(const Inst& inst) {
  return inst.dst.sel == isa::Sel::kWord0 && inst.dst_preserve && !inst.sdwa;
}

bool is_plain(const Inst& inst, const VopRow& row) {
  if (inst.clamp || inst.omod != 0 || inst.sdwa || inst.dpp != isa::Dpp::kNone) return false;
  if (inst.dst.sel != isa::Sel::kDword && !writes_low_half(inst)) return false;
  return std::all_of(std::begin(inst.src), std::end(inst.src),
                     [&](const Operand& operand) { return is_plain(operand, row); });
}

// The direct handler, when the operands are what it takes.
Handler choose_direct(const VopRow& row, const Inst& inst, Shape shape) {
  const auto is = [](const Operand& operand, OperandKind kind) {
    return operand.kind == kind && !operand.neg && !operand.abs;
  };
  const Operand& first = inst.src[0];
  const bool scalar = is(first, OperandKind::kScalar) || is(first, OperandKind::kImm);
  if (!scalar && !is(first, OperandKind::kVgpr)) return nullptr;
  const auto is_vgpr_or_none = [&](const Operand& operand) {
    return operand.kind == OperandKind::kNone || is(operand, OperandKind::kVgpr);
  };
  if (!std::all_of(std::begin(inst.src) + 1, std::end(inst.src), is_vgpr_or_none)) return nullptr;
  return inst.dst.kind == OperandKind::kVgpr ? row.direct[shape.wave64][scalar] : nullptr;
}

}  // namespace

Handler choose_handler(const VopRow* row, const Inst& inst, Shape shape) {
  if (row == nullptr) return nullptr;
  // Clamp on an integer result means saturation, which is an operation of its own.
  if (inst.clamp && row->saturating != nullptr) return row->saturating;
  if (!is_plain(inst, *row)) return row->generic;
  if (!writes_low_half(inst)) {
    const Handler direct = choose_direct(*row, inst, shape);
    return direct != nullptr ? direct : row->plain;
  }
  return row->plain_low != nullptr ? row->plain_low : row->generic;
}

const VopFacts* find_vop_facts(const Inst& inst) {
  const VopRow* row = nullptr;
  if (inst.family == isa::Family::kVopc) {
    row = best_tables().vopc(inst.op);
  } else if (inst.family == isa::Family::kVop || inst.family == isa::Family::kVopd) {
    row = best_tables().vop(inst.op);
    if (row == nullptr) row = best_vop3p_row(inst);
  }
  return row == nullptr ? nullptr : &row->facts;
}

Handler find_vop(const Inst& inst, Shape shape) {
  return choose_handler(best_tables().vop(inst.op), inst, shape);
}

Handler find_vopc(const Inst& inst, Shape shape) {
  return choose_handler(best_tables().vopc(inst.op), inst, shape);
}

Handler find_vop3p(const Inst& inst, Shape shape) {
  return choose_handler(best_vop3p_row(inst), inst, shape);
}

}  // namespace wavetap::emu
