#include "sanitize/race_instructions.h"

#include <cstring>

namespace wavetap::sanitize {
namespace {

using isa::Family;
using isa::Inst;
using isa::Op;

bool has_text(Op op, const char* text) { return std::strstr(isa::op_name(op), text) != nullptr; }

bool is_global_memory(const Inst& inst) {
  return inst.family == Family::kFlat || inst.family == Family::kMubuf;
}

bool is_atomic(const Inst& inst) { return is_global_memory(inst) && has_text(inst.op, "_atomic_"); }

}  // namespace

bool accesses_memory(const Inst& inst) {
  switch (inst.family) {
    case Family::kSmem:
    case Family::kFlat:
    case Family::kMubuf: return true;
    case Family::kDs: return !has_text(inst.op, "ds_gws");
    default: return false;
  }
}

bool is_flag_access(const Inst& inst) {
  if (is_global_memory(inst)) {
    const bool is_load = inst.dst.kind != isa::OperandKind::kNone;
    return is_atomic(inst) || (is_load && (inst.glc || inst.dlc));
  }
  if (inst.family != Family::kDs) return false;
  // Loads, stores and what moves data between lanes; all else is an atomic.
  for (const char* plain : {"ds_read", "ds_load", "ds_write", "ds_store", "permute", "swizzle"})
    if (has_text(inst.op, plain)) return false;
  return true;
}

uint8_t emptied_caches(const Inst& inst) {
  switch (inst.op) {
    case Op::buffer_gl0_inv:
    case Op::buffer_wbinvl1:
    case Op::buffer_wbinvl1_vol: return 1;
    case Op::buffer_gl1_inv: return 2;
    case Op::buffer_inv: return inst.dlc ? 1 : 0;  // sc1: at least for the GPU
    default: return 0;
  }
}

uint8_t caches_to_empty(const isa::Program& program) {
  return program.target().major >= 10 ? 3 : 1;
}

bool is_grid_barrier(Op op) { return op == Op::ds_gws_barrier; }

bool is_lock_operation(Op op) {
  for (const char* text : {"cmpswap", "cmpst", "_swap", "wrxchg", "storexchg", "fcmpswap"})
    if (has_text(op, text)) return true;
  return false;
}

bool waits_for_stores(const Inst& inst, const isa::Program& program) {
  if (program.target().major >= 10) return inst.op == Op::s_waitcnt_vscnt && inst.imm16 == 0;
  if (inst.op == Op::s_waitcnt_vmcnt) return inst.imm16 == 0;
  return inst.op == Op::s_waitcnt && (inst.imm16 & 0xc00f) == 0;
}

bool orders_workgroups(const isa::Program& program) {
  for (int32_t i = 0; i < program.size(); ++i) {
    const Inst& inst = program.insts()[i];
    switch (inst.op) {
      case Op::s_swappc_b64:
      case Op::s_setpc_b64:
      case Op::s_call_b64:
      case Op::ds_gws_barrier: return true;
      default: break;
    }
    // An atomic that returns nothing cannot tell its wave anything.
    if (is_global_memory(inst) && is_flag_access(inst) && inst.dst.kind != isa::OperandKind::kNone)
      return true;
  }
  return false;
}

bool orders_waves(const isa::Program& program) {
  if (orders_workgroups(program)) return true;
  for (int32_t i = 0; i < program.size(); ++i) {
    const Inst& inst = program.insts()[i];
    if (inst.family == Family::kDs && is_flag_access(inst) &&
        inst.dst.kind != isa::OperandKind::kNone)
      return true;
  }
  return false;
}

bool may_load_lds_flags(const isa::Program& program) {
  for (int32_t i = 0; i < program.size(); ++i) {
    const Inst& inst = program.insts()[i];
    if (inst.family == Family::kFlat && has_text(inst.op, "flat_load") && is_flag_access(inst))
      return true;
  }
  return false;
}

}  // namespace wavetap::sanitize
