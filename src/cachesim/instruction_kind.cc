#include "cachesim/instruction_kind.h"

#include <string_view>

#include "emu/exec.h"
#include "emu/exec/vop_row.h"

namespace wavetap::cachesim {
namespace {

using isa::Family;
using std::string_view;
using Counter = uint64_t InstructionCounters::*;
using C = InstructionCounters;

bool has(string_view name, string_view part) { return name.find(part) != string_view::npos; }

bool is_transcendental(string_view name) {
  for (const string_view part :
       {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"})
    if (name.starts_with(part)) return true;
  return false;
}

Counter float_counter(string_view name, const emu::VopFacts& facts) {
  enum { kAdd, kMul, kFma, kTrans };
  const int kind = is_transcendental(name) ? kTrans
                   : has(name, "fma") || has(name, "mac") || has(name, "mad") || has(name, "dot")
                       ? kFma
                   : has(name, "mul") ? kMul
                                      : kAdd;
  static constexpr Counter kCounters[3][4] = {
      {&C::SQ_INSTS_VALU_ADD_F16, &C::SQ_INSTS_VALU_MUL_F16, &C::SQ_INSTS_VALU_FMA_F16,
       &C::SQ_INSTS_VALU_TRANS_F16},
      {&C::SQ_INSTS_VALU_ADD_F32, &C::SQ_INSTS_VALU_MUL_F32, &C::SQ_INSTS_VALU_FMA_F32,
       &C::SQ_INSTS_VALU_TRANS_F32},
      {&C::SQ_INSTS_VALU_ADD_F64, &C::SQ_INSTS_VALU_MUL_F64, &C::SQ_INSTS_VALU_FMA_F64,
       &C::SQ_INSTS_VALU_TRANS_F64}};
  return kCounters[static_cast<size_t>(facts.precision)][kind];
}

Counter vector_counter(const isa::Inst& inst, string_view name) {
  const emu::VopFacts* const facts = emu::find_vop_facts(inst);
  if (facts != nullptr && facts->flops != 0) return float_counter(name, *facts);
  if (name.starts_with("v_cvt")) return &C::SQ_INSTS_VALU_CVT;
  if (name.starts_with("v_mov") || name.starts_with("v_read") || name.starts_with("v_accvgpr"))
    return nullptr;
  for (const string_view type : {"_i64", "_u64", "_b64"})
    if (has(name, type)) return &C::SQ_INSTS_VALU_INT64;
  for (const string_view type : {"_i32", "_u32", "_b32", "_i16", "_u16", "_b16", "_i24", "_u24"})
    if (has(name, type)) return &C::SQ_INSTS_VALU_INT32;
  return nullptr;
}

// The format of the factors, behind the shape: v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x8_f16,
// v_wmma_f32_16x16x16_f16.
Counter matrix_counter(string_view name) {
  const size_t shape = name.find('x');
  const string_view rest = shape == string_view::npos ? name : name.substr(shape);
  if (has(rest, "xf32")) return &C::SQ_INSTS_VALU_MFMA_MOPS_XF32;
  if (has(rest, "bf16")) return &C::SQ_INSTS_VALU_MFMA_MOPS_BF16;
  if (has(rest, "f64")) return &C::SQ_INSTS_VALU_MFMA_MOPS_F64;
  if (has(rest, "f32")) return &C::SQ_INSTS_VALU_MFMA_MOPS_F32;
  if (has(rest, "f16")) return &C::SQ_INSTS_VALU_MFMA_MOPS_F16;
  if (has(rest, "fp8") || has(rest, "bf8")) return &C::SQ_INSTS_VALU_MFMA_MOPS_F8;
  return &C::SQ_INSTS_VALU_MFMA_MOPS_I8;
}

}  // namespace

InstructionKind kind_of(const isa::Inst& inst, amd::GfxTarget target, bool wave64) {
  const string_view name = isa::op_name(inst.op);
  InstructionKind kind;
  switch (inst.family) {
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd: kind.counter = vector_counter(inst, name); break;
    case Family::kMatrix:
      kind.counter = matrix_counter(name);
      kind.weight = emu::matrix_flops(inst, {target, wave64}) / 512;
      break;
    case Family::kFlat: kind.is_flat = true; [[fallthrough]];
    case Family::kMubuf:
      if (has(name, "_load") || (has(name, "_atomic") && inst.glc))
        kind.memory = &C::SQ_INSTS_VMEM_RD;
      else if (has(name, "_store") || has(name, "_atomic")) kind.memory = &C::SQ_INSTS_VMEM_WR;
      break;
    default: break;
  }
  return kind;
}

bool wait_limits(const isa::Inst& inst, amd::GfxTarget target, WaitLimits* limits) {
  const auto imm = static_cast<uint32_t>(inst.imm16);
  if (inst.op == isa::Op::s_waitcnt_vmcnt) {
    limits->vmem = static_cast<uint8_t>(imm & 0x3f);
    return true;
  }
  if (inst.op == isa::Op::s_waitcnt_lgkmcnt) {
    limits->lgkm = static_cast<uint8_t>(imm & 0x3f);
    return true;
  }
  if (inst.op != isa::Op::s_waitcnt) return false;
  if (target.major >= 11) {
    limits->vmem = static_cast<uint8_t>(imm >> 10 & 0x3f);
    limits->lgkm = static_cast<uint8_t>(imm >> 4 & 0x3f);
  } else {
    limits->vmem = static_cast<uint8_t>((imm & 0xf) | (imm >> 14 & 3) << 4);
    limits->lgkm = static_cast<uint8_t>(imm >> 8 & (target.major == 10 ? 0x3f : 0xf));
  }
  const uint32_t most = target.major == 9 ? 15 : 63;
  if (limits->vmem == 63) limits->vmem = 255;
  if (limits->lgkm >= most) limits->lgkm = 255;
  return limits->vmem != 255 || limits->lgkm != 255;
}

bool ends_block(const isa::Inst& inst) {
  if (isa::is_relative_jump(inst.op)) return true;
  const string_view name = isa::op_name(inst.op);
  return name.starts_with("s_setpc") || name.starts_with("s_swappc") || name.starts_with("s_rfe") ||
         name.starts_with("s_call") || name.starts_with("s_endpgm") ||
         name.starts_with("s_cbranch");
}

}  // namespace wavetap::cachesim
