#include "jit/native/plan.h"

#include <algorithm>

#include "emu/exec/cache_fence.h"
#include "jit/idle_ops.h"
#include "jit/native/lane_ops.h"
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
bool ends_way(const Inst& inst) {
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
    // Among these are s_endpgm, s_trap and branches out of the program. Waves come back from a
    // barrier in another slice.
    return !does_nothing(inst.op);
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
  if (ends_way(inst)) return Kind::kLast;
  if (is_compiled_lane_op(inst)) return Kind::kLane;
  switch (inst.family) {
    case Family::kSop: return compiled_scalar_op(inst) != nullptr ? Kind::kScalar : Kind::kCall;
    case Family::kVop:
    case Family::kVopc: return compiled_vector_op(inst) != nullptr ? Kind::kVector : Kind::kCall;
    case Family::kVopd: {
      const bool compiled = is_compiled_half(inst) && is_compiled_half((&inst)[1]);
      return compiled ? Kind::kVector : Kind::kCall;
    }
    case Family::kDs:
      if (compiled_vector_op(inst) != nullptr) return Kind::kVector;
      [[fallthrough]];
    case Family::kFlat: return compiled_memory_op(inst).has_value() ? Kind::kMemory : Kind::kCall;
    case Family::kSmem: return compiled_scalar_load(inst) != 0 ? Kind::kScalarLoad : Kind::kCall;
    case Family::kMubuf: return emu::is_cache_fence(inst.op) ? Kind::kFence : Kind::kCall;
    default: return Kind::kCall;
  }
}

}  // namespace

bool may_write_rows(const Inst& inst) {
  return inst.family != Family::kSop && inst.family != Family::kSopp &&
         inst.family != Family::kSmem;
}

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
  if (operand.is(OperandKind::kScalar) && operand.index == slot::kNull) {
    slots.has_mask = false;
    return slots;
  }
  slots.mask = operand.is(OperandKind::kScalar) ? operand.index : slot::kVccLo;
  return slots;
}

int32_t Plan::end_of_run(int32_t begin) const {
  int32_t end = begin + 1;
  while (has(end) && !at(end).begins_run) ++end;
  return end;
}

namespace {

// Follows all ways from the first instruction on.
class Ways {
 public:
  Ways(const BlockRequest& request, Plan& plan) : request_(request), plan_(plan) {
    plan_.insts.assign(static_cast<size_t>(request.known), {Kind::kSkipped});
    open_.push_back(0);
    while (!open_.empty()) {
      const int32_t begin = open_.back();
      open_.pop_back();
      follow(begin);
    }
    while (!plan_.insts.empty() && plan_.insts.back().kind == Kind::kSkipped)
      plan_.insts.pop_back();
  }

 private:
  Planned& at(int32_t i) { return plan_.insts[static_cast<size_t>(i)]; }

  void follow(int32_t i) {
    for (; i < request_.known; ++i) {
      if (at(i).kind != Kind::kSkipped) {
        at(i).begins_run = true;
        return;
      }
      const Inst& inst = request_.insts[plan_.first + i];
      if (i > 0 && (&inst)[-1].vopd_first) {
        at(i).kind = Kind::kNothing;
        continue;
      }
      const bool ends_turn = request_.ends_turn[i] != 0;
      const bool is_done = !request_.is_verified || (is_repeatable(inst) && !ends_turn);
      at(i).ends_turn = ends_turn && is_done;
      at(i).begins_run |= at(i).ends_turn;
      const Kind kind = is_done ? kind_of(request_, plan_.first + i) : Kind::kLeave;
      at(i).kind = kind;
      if (kind == Kind::kLast || kind == Kind::kLeave) return;
      if (kind != Kind::kBranch) continue;
      lead_to(inst.target - plan_.first);
      if (inst.op == Op::s_branch) return;
    }
  }
  void lead_to(int32_t target) {
    if (target < 0 || target >= request_.known) return;
    // The second half of a pair is no place to go to.
    if (target > 0 && request_.insts[plan_.first + target - 1].vopd_first) return;
    at(target).begins_run = true;
    if (at(target).kind == Kind::kSkipped) open_.push_back(target);
  }

  const BlockRequest& request_;
  Plan& plan_;
  std::vector<int32_t> open_;
};

}  // namespace

WrittenRows written_rows(const BlockRequest& request, const Plan& plan, int32_t begin,
                         int32_t end) {
  WrittenRows written;
  for (int32_t i = begin; i < end; ++i) {
    const Inst& inst = request.insts[plan.first + i];
    const Kind kind = plan.at(i).kind;
    if (kind == Kind::kSkipped || kind == Kind::kLeave) continue;
    if (kind == Kind::kCall || kind == Kind::kLast) written.may_be_any |= may_write_rows(inst);
    if (!inst.dst.is(OperandKind::kVgpr)) continue;
    for (uint32_t k = 0; k < std::max<uint32_t>(inst.dst.dwords, 1); ++k)
      written.rows.insert(inst.dst.index + k);
  }
  return written;
}

Plan plan_block(const BlockRequest& request) {
  Plan plan;
  plan.first = request.first;
  const Ways ways(request, plan);
  if (plan.has(0) && plan.at(0).kind == Kind::kLeave) plan.insts.clear();
  find_segments(request, plan);
  int compiled = 0;
  for (const Planned& planned : plan.insts) {
    switch (planned.kind) {
      case Kind::kNothing:
      case Kind::kFence:
      case Kind::kCall:
      case Kind::kLast:
      case Kind::kLeave:
      case Kind::kSkipped: break;
      case Kind::kMemory: compiled += 2; break;  // handlers look at every lane's address
      default: ++compiled;
    }
  }
  plan.is_worthwhile = plan.size() >= 2 && compiled >= 2;
  return plan;
}

}  // namespace wavetap::jit
