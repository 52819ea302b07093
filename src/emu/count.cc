// How each instruction counts. Decided once per static instruction: its class from the canonical
// name, its floating-point operations from the tables of vector operations (exec/vop_row.h).
//
// Operations: add, subtract, multiply and the transcendental functions count one per lane, fused
// and unfused multiply-adds two, a dot product of n pairs 2n, packed operations twice that of one
// half. Comparisons, minimum, maximum, conversions and moves count none, as in AMD's own FLOP
// metrics.
//
// Cycles: the issue model is deliberately simple (one wave, no stalls). A 64-lane instruction takes
// four cycles on gfx9's 16-lane units and two on gfx10's and later 32-lane ones; a transcendental
// or double-precision one four times as long; a matrix one its operations divided by the unit's
// width.
#include "emu/count.h"

#include <string_view>

#include "emu/exec/vop_row.h"

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using std::string_view;

bool has(string_view name, string_view part) { return name.find(part) != string_view::npos; }

StepCount::Class class_of_sopp(string_view name) {
  if (name.starts_with("s_branch") || name.starts_with("s_cbranch")) return StepCount::kBranch;
  if (name == "s_barrier") return StepCount::kBarrier;
  if (name.starts_with("s_sendmsg")) return StepCount::kMessage;
  if (name.starts_with("s_wait")) return StepCount::kWait;
  return StepCount::kOther;
}

StepCount::Class class_of_vmem(string_view name) {
  if (has(name, "_atomic")) return StepCount::kVmemAtomic;
  if (has(name, "_store")) return StepCount::kVmemStore;
  if (has(name, "_load") || has(name, "_sample") || has(name, "_gather4"))
    return StepCount::kVmemLoad;
  return StepCount::kOther;  // cache control
}

StepCount::Class class_of(const Inst& inst, string_view name) {
  switch (inst.family) {
    case Family::kSop:
      if (name.starts_with("s_waitcnt")) return StepCount::kWait;
      if (name.starts_with("s_sendmsg")) return StepCount::kMessage;
      return StepCount::kSalu;
    case Family::kSopp: return class_of_sopp(name);
    case Family::kSmem: return StepCount::kSmem;
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd: return StepCount::kValu;
    case Family::kMatrix: return StepCount::kMatrix;
    case Family::kDs: return StepCount::kLds;
    case Family::kFlat:
    case Family::kMubuf:
    case Family::kImage: return class_of_vmem(name);
    default: return StepCount::kOther;
  }
}

bool is_transcendental(string_view name) {
  for (const string_view part :
       {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"})
    if (name.starts_with(part)) return true;
  return false;
}

// Operations per lane: the tables of vector operations know.
void add_flops(const Inst& inst, StepCount& count) {
  const VopFacts* facts = find_vop_facts(inst);
  if (facts == nullptr) return;
  switch (facts->precision) {
    case Precision::kF16: count.flops_f16 = count.flops_f16 + facts->flops; break;
    case Precision::kF32: count.flops_f32 = count.flops_f32 + facts->flops; break;
    case Precision::kF64: count.flops_f64 = count.flops_f64 + facts->flops; break;
  }
}

uint16_t cycles_of(const StepCount& count, string_view name, Shape shape) {
  const bool gfx9 = shape.target.major == 9;
  const uint16_t pass = !shape.wave64 ? 1 : gfx9 ? 4 : 2;
  switch (count.type) {
    case StepCount::kNothing: return 0;
    case StepCount::kValu:
      if (is_transcendental(name)) return pass * 4;
      // gfx90a and later CDNA run double precision at full rate.
      if (count.flops_f64 != 0 && !shape.target.is_gfx90a_family()) return pass * 4;
      return pass;
    case StepCount::kMatrix: return static_cast<uint16_t>(4 + count.flops / (gfx9 ? 1024 : 512));
    case StepCount::kVmemLoad:
    case StepCount::kVmemStore:
    case StepCount::kVmemAtomic: return pass * 4;
    case StepCount::kLds: return pass * 2;
    default: return 1;
  }
}

}  // namespace

StepCount classify(const isa::Inst& inst, Shape shape) {
  const string_view name = isa::op_name(inst.op);
  StepCount count;
  count.type = class_of(inst, name);
  if (count.type == StepCount::kValu) add_flops(inst, count);
  if (inst.vopd_first) add_flops((&inst)[1], count);
  if (count.type == StepCount::kMatrix) count.flops = matrix_flops(inst, shape);
  count.cycles = cycles_of(count, name, shape);
  return count;
}

}  // namespace wavetap::emu
