#include "jit/native/plan.h"

#include <algorithm>
#include <bitset>
#include <initializer_list>
#include <iterator>

#include "jit/native/memory_ops.h"
#include "jit/native/scalar_ops.h"
#include "jit/native/vector_ops.h"

namespace wavetap::jit {
namespace {

using isa::Family;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
namespace slot = isa::slot;

// Results of a segment are kept until all are known to be right: as many as the host's registers
// hold when strips are narrow.
constexpr size_t kMostResults = 22;

bool does_nothing(Op op) {
  switch (op) {
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_setprio:
    case Op::s_clause:
    case Op::s_inst_prefetch:
    case Op::s_delay_alu: return true;
    default: return false;
  }
}

bool is_branch(Op op) {
  switch (op) {
    case Op::s_branch:
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz: return true;
    default: return false;
  }
}

// Changes MODE, VGPR indexing or the program counter; waits; ends the wave.
bool ends_block(const Inst& inst) {
  switch (inst.op) {
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32:
    case Op::s_round_mode:
    case Op::s_denorm_mode:
    case Op::s_set_gpr_idx_on:
    case Op::s_set_gpr_idx_off:
    case Op::s_set_gpr_idx_mode:
    case Op::s_set_gpr_idx_idx:
    case Op::s_setpc_b64:
    case Op::s_swappc_b64:
    case Op::s_call_b64:
    case Op::s_cbranch_g_fork:
    case Op::s_cbranch_i_fork:
    case Op::s_cbranch_join:
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end:
    case Op::s_setvskip: return true;
    default: break;
  }
  if (inst.family == Family::kSopp) {
    // Among these are s_endpgm, s_trap and branches out of the program.
    return !does_nothing(inst.op) && inst.op != Op::s_barrier;
  }
  return inst.family == Family::kDs && inst.gds;
}

// Whether the instruction may be done twice from the same state: it changes registers alone, and
// reads nothing that changes by itself.
bool is_repeatable(const Inst& inst) {
  switch (inst.family) {
    case Family::kSop:
      return inst.op != Op::s_getreg_b32 && inst.op != Op::s_sendmsg_rtn_b32 &&
             inst.op != Op::s_sendmsg_rtn_b64;
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd:
    case Family::kMatrix: return true;
    case Family::kSopp: return is_branch(inst.op) || does_nothing(inst.op);
    case Family::kSmem:
      if (inst.op == Op::s_memtime || inst.op == Op::s_memrealtime) return false;
      break;
    case Family::kDs:
      if (inst.op == Op::ds_append || inst.op == Op::ds_consume || inst.gds) return false;
      break;
    case Family::kFlat:
    case Family::kMubuf:
      if (inst.lds) return false;
      break;
    default: return false;
  }
  // Loads: what stores or changes memory has data.
  return !inst.dst.is(OperandKind::kNone) && inst.src[0].is(OperandKind::kNone);
}

bool is_compiled_half(const Inst& inst) {
  const VectorOp* op = compiled_vector_op(inst);
  return op != nullptr && op->mask == MaskResult::kNone;
}

Kind kind_of(const BlockRequest& request, int32_t index) {
  const Inst& inst = request.insts[index];
  // What lowering refused raises a fault: its handler does that.
  if (request.is_ordinary[index - request.first] == 0) return Kind::kLast;
  if (does_nothing(inst.op)) return Kind::kNothing;
  if (is_branch(inst.op) && inst.target >= 0) return Kind::kBranch;
  if (ends_block(inst)) return Kind::kLast;
  switch (inst.family) {
    case Family::kSop: return compiled_scalar_op(inst) != nullptr ? Kind::kScalar : Kind::kCall;
    case Family::kVop:
    case Family::kVopc: return compiled_vector_op(inst) != nullptr ? Kind::kVector : Kind::kCall;
    case Family::kVopd: {
      const bool compiled = is_compiled_half(inst) && is_compiled_half((&inst)[1]);
      return compiled ? Kind::kVector : Kind::kCall;
    }
    case Family::kFlat:
    case Family::kDs: return compiled_memory_op(inst).has_value() ? Kind::kMemory : Kind::kCall;
    case Family::kSmem: return compiled_scalar_load(inst) != 0 ? Kind::kScalarLoad : Kind::kCall;
    default: return Kind::kCall;
  }
}

// --- Segments.

using Slots = std::bitset<slot::kCount + 2>;

void add(Slots& slots, const Operand& operand, uint32_t dwords) {
  if (!operand.is(OperandKind::kScalar)) return;
  for (uint32_t i = 0; i < dwords; ++i) slots.set(operand.index + i);
}

struct ScalarUse {
  Slots reads;  // as scalars, not as masks of lanes
  Slots writes;
};
ScalarUse scalar_use(const Inst& inst) {
  ScalarUse use;
  const ScalarOp& op = *compiled_scalar_op(inst);
  for (int k = 0; k < 2; ++k) add(use.reads, inst.src[k], op.source_bits[k] / 32u);
  if (op.form == ScalarOp::Form::kConstant) add(use.reads, inst.dst, 1);
  if (op.result_bits != 0) add(use.writes, inst.dst, op.result_bits / 32u);
  if (op.form == ScalarOp::Form::kSaveExec || op.form == ScalarOp::Form::kWriteExec)
    use.writes.set(slot::kExecLo).set(slot::kExecHi);
  return use;
}

// What a segment has come to while instructions are added to it.
struct Segment {
  bool wave64 = true;
  Slots masks = {};       // written lane by lane
  Slots mask_bases = {};  // the first slot of each
  std::bitset<512> results = {};
  bool loads[2] = {};      // from memory, by MemoryOp::Space
  bool is_closed = false;  // EXEC has changed, or something was stored

  bool takes_scalar(const Inst& inst) const {
    const ScalarUse use = scalar_use(inst);
    const Slots all = use.reads | use.writes;
    if (all.test(slot::kExecLo) || all.test(slot::kExecHi)) return false;
    return (all & masks).none();
  }
  bool takes_vector(const Inst& inst) const {
    const VectorOp& op = *compiled_vector_op(inst);
    Slots reads;
    for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
      if (op.source[k] != Type::kMask) add(reads, inst.src[k], is_wide(op.source[k]) ? 2 : 1);
      else if (!is_whole(mask_source(inst, k))) return false;
    }
    const MaskSlots written = mask_slots(inst);
    if (written.has_mask && !is_whole(written.mask)) return false;
    return (reads & masks).none() && results.count() + 2 <= kMostResults;
  }
  // Addresses are looked at before the first strip; the rest is in memory_emitter.h.
  bool takes_memory(const Inst& inst) const {
    const MemoryOp op = *compiled_memory_op(inst);
    const bool has_base = inst.saddr.is(OperandKind::kScalar);
    const bool has_high = op.space == MemoryOp::Space::kGlobal && !has_base;
    if (results.test(inst.vaddr.index) || (has_high && results.test(inst.vaddr.index + 1u)))
      return false;
    Slots base;
    add(base, inst.saddr, 2);
    if ((base & masks).any()) return false;
    if (op.is_store) return op.elements == 1 && !loads[static_cast<size_t>(op.space)];
    return results.count() + op.elements * op.rows() <= kMostResults;
  }
  void add_memory(const Inst& inst) {
    const MemoryOp op = *compiled_memory_op(inst);
    is_closed = op.is_store;
    if (op.is_store) return;
    loads[static_cast<size_t>(op.space)] = true;
    for (uint32_t i = 0; i < op.elements * op.rows(); ++i) results.set(inst.dst.index + i);
  }
  // A mask at `base` is one of ours, or shares no slot with any.
  bool is_whole(uint32_t base) const {
    return mask_bases.test(base) || !(masks.test(base) || (wave64 && masks.test(base + 1)));
  }
  void add_vector(const Inst& inst) {
    const VectorOp& op = *compiled_vector_op(inst);
    if (op.result != Type::kNone) {
      results.set(inst.dst.index);
      if (is_wide(op.result)) results.set(inst.dst.index + 1u);
    }
    const MaskSlots slots = mask_slots(inst);
    if (slots.has_mask) {
      mask_bases.set(slots.mask);
      masks.set(slots.mask);
      if (wave64) masks.set(slots.mask + 1u);
    }
    is_closed = slots.to_exec;
  }
};

// Numbers the segments. A scalar operation belongs to one only when vector operations follow it
// there: the last ones are taken out again.
void find_segments(const BlockRequest& request, Plan& plan) {
  const bool wave64 = request.wave64;
  int32_t number = -1;
  Segment segment{wave64};
  bool is_open = false;
  int32_t last_vector = -1;
  const auto close = [&](int32_t end) {
    if (is_open)
      for (int32_t i = last_vector + 1; i < end; ++i)
        plan.insts[static_cast<size_t>(i)].segment = -1;
    is_open = false;
  };
  for (int32_t i = 0; i < plan.size(); ++i) {
    Planned& planned = plan.insts[static_cast<size_t>(i)];
    const Inst& inst = request.insts[plan.first + i];
    if (planned.kind == Kind::kVector) {
      const Inst* second = inst.vopd_first ? &inst + 1 : nullptr;
      if (!is_open || segment.is_closed || !segment.takes_vector(inst) ||
          (second != nullptr && !segment.takes_vector(*second))) {
        close(i);
        segment = Segment{wave64};
        is_open = true;
        ++number;
      }
      segment.add_vector(inst);
      if (second != nullptr) segment.add_vector(*second);
      planned.segment = number;
      last_vector = i;
    } else if (planned.kind == Kind::kMemory) {
      if (!is_open || segment.is_closed || !segment.takes_memory(inst)) {
        close(i);
        segment = Segment{wave64};
        is_open = true;
        ++number;
      }
      segment.add_memory(inst);
      planned.segment = number;
      last_vector = i;
    } else if (is_open && (planned.kind == Kind::kNothing ||
                           (planned.kind == Kind::kScalar && !segment.is_closed &&
                            segment.takes_scalar(inst)))) {
      planned.segment = number;
    } else {
      close(i);
    }
  }
  close(plan.size());
}

}  // namespace

uint16_t mask_source(const Inst& inst, size_t k) {
  return inst.src[k].is(OperandKind::kScalar) ? inst.src[k].index : slot::kVccLo;
}

MaskSlots mask_slots(const Inst& inst) {
  MaskSlots slots;
  const VectorOp& op = *compiled_vector_op(inst);
  if (op.mask == MaskResult::kNone) return slots;
  const bool names = inst.dst.is(OperandKind::kScalar) || inst.dst2.is(OperandKind::kScalar);
  slots.to_exec = op.mask == MaskResult::kExec;
  slots.has_mask = names || !slots.to_exec;
  const Operand& operand = inst.dst2.is(OperandKind::kScalar) ? inst.dst2 : inst.dst;
  slots.mask = operand.is(OperandKind::kScalar) ? operand.index : slot::kVccLo;
  return slots;
}

Plan plan_block(const BlockRequest& request) {
  Plan plan;
  plan.first = request.first;
  int compiled = 0;
  for (int32_t i = plan.first; i < plan.first + request.known; ++i) {
    const Inst& inst = request.insts[i];
    if (i > plan.first && request.insts[i - 1].vopd_first) {
      plan.insts.push_back({Kind::kNothing});
      continue;
    }
    if (request.is_verified && !is_repeatable(inst)) break;
    const Kind kind = kind_of(request, i);
    plan.insts.push_back({kind});
    if (kind != Kind::kCall && kind != Kind::kLast && kind != Kind::kNothing) ++compiled;
    if (kind == Kind::kLast || inst.op == Op::s_branch) break;
  }
  find_segments(request, plan);
  plan.is_worthwhile = plan.size() >= 2 && compiled >= 2;
  return plan;
}

}  // namespace wavetap::jit
