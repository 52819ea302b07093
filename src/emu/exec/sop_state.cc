// Scalar instructions that act on the wave itself: EXEC, the program counter, hardware registers,
// SGPRs chosen at run time, and the fork/join stack of gfx9.
#include <bit>
#include <cstdint>

#include "emu/exec/sop.h"
#include "emu/hwreg.h"
#include "emu/jump_cache.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
namespace slot = isa::slot;

template <class T>
T read(const Wave& wave, const Operand& operand) {
  if constexpr (sizeof(T) == 8) return wave.read_s64(operand);
  else return wave.read_s32(operand);
}
template <class T>
void write(Wave& wave, const Operand& operand, T value) {
  if constexpr (sizeof(T) == 8) wave.write_s64(operand, value);
  else wave.write_s32(operand, value);
}
template <class T>
T read_exec(const Wave& wave) {
  if constexpr (sizeof(T) == 8) return wave.s64(slot::kExecLo);
  else return wave.s[slot::kExecLo];
}
template <class T>
void write_exec(Wave& wave, T value) {
  if constexpr (sizeof(T) == 8) wave.set_s64(slot::kExecLo, value);
  else wave.s[slot::kExecLo] = value;
}

// --- EXEC.

template <class T>
T op_and(T a, T b) {
  return a & b;
}
template <class T>
T op_or(T a, T b) {
  return a | b;
}
template <class T>
T op_xor(T a, T b) {
  return a ^ b;
}
template <class T>
T op_nand(T a, T b) {
  return ~(a & b);
}
template <class T>
T op_nor(T a, T b) {
  return ~(a | b);
}
template <class T>
T op_xnor(T a, T b) {
  return ~(a ^ b);
}
template <class T>
T op_andn1(T a, T b) {
  return ~a & b;
}
template <class T>
T op_andn2(T a, T b) {
  return a & ~b;
}
template <class T>
T op_orn1(T a, T b) {
  return ~a | b;
}
template <class T>
T op_orn2(T a, T b) {
  return a | ~b;
}

// D = EXEC; EXEC = f(S0, EXEC); SCC = EXEC != 0.
template <class T, T (*kFunction)(T, T)>
void save_exec(Wave& wave, const Inst& inst) {
  const T source = read<T>(wave, inst.src[0]);
  const T old = read_exec<T>(wave);
  const T result = kFunction(source, old);
  // D may be any pair, EXEC itself included; EXEC is written last and wins.
  write<T>(wave, inst.dst, old);
  write_exec<T>(wave, result);
  wave.scc = result != 0;
}

// EXEC = D = f(S0, EXEC); SCC = EXEC != 0.
template <class T, T (*kFunction)(T, T)>
void write_exec_too(Wave& wave, const Inst& inst) {
  const T result = kFunction(read<T>(wave, inst.src[0]), read_exec<T>(wave));
  write<T>(wave, inst.dst, result);
  write_exec<T>(wave, result);
  wave.scc = result != 0;
}

// --- Program counter.

uint64_t next_pc(const Wave& wave) { return wave.program->pc_of(wave.pc).value; }

// D = address of the next instruction.
void s_getpc_b64(Wave& wave, const Inst& inst) { wave.write_s64(inst.dst, next_pc(wave)); }

// PC = S0. The low two bits do not exist.
void s_setpc_b64(Wave& wave, const Inst& inst) {
  jump(wave, wave.read_s64(inst.src[0]) & ~uint64_t{3});
}

// D = address of the next instruction; PC = S0.
void s_swappc_b64(Wave& wave, const Inst& inst) {
  const uint64_t target = wave.read_s64(inst.src[0]) & ~uint64_t{3};
  wave.write_s64(inst.dst, next_pc(wave));
  jump(wave, target);
}

// A jump to PC + 4 + imm * 4.
void jump_relative(Wave& wave, const Inst& inst) {
  if (inst.target >= 0) wave.pc = inst.target;
  else jump(wave, next_pc(wave) + static_cast<uint64_t>(int64_t{inst.imm16} * 4));
}

// D = address of the next instruction; PC += 4 + imm * 4.
void s_call_b64(Wave& wave, const Inst& inst) {
  wave.write_s64(inst.dst, next_pc(wave));
  jump_relative(wave, inst);
}

// Leaves a trap handler. There is none, and without privilege it is illegal.
void needs_privilege(Wave& wave, const Inst&) {
  wave.raise(FaultKind::kIllegalInstruction, "instruction needs privilege");
}

// --- gfx9's fork and join: both sides of a divergent branch, the smaller first. The stack of
// --- postponed sides is in SGPRs, four per level, its height in MODE.CSP.

constexpr uint32_t kCspShift = 29;

uint32_t fork_height(const Wave& wave) { return wave.mode_rest >> kCspShift; }
void set_fork_height(Wave& wave, uint32_t height) {
  wave.mode_rest = (wave.mode_rest & ~(7u << kCspShift)) | (height & 7) << kCspShift;
}

void fork(Wave& wave, uint64_t condition, uint64_t target) {
  const uint64_t exec = wave.exec();
  const uint64_t pass = condition & exec;
  const uint64_t fail = ~condition & exec;
  if (pass == exec) return jump(wave, target);
  if (fail == exec) return;
  const uint32_t at = fork_height(wave) * 4;  // at most 28: always inside the SGPRs
  const bool fail_first = std::popcount(fail) < std::popcount(pass);
  wave.set_s64(at, fail_first ? pass : fail);
  wave.set_s64(at + 2, fail_first ? target : next_pc(wave));
  set_fork_height(wave, fork_height(wave) + 1);
  wave.set_s64(slot::kExecLo, fail_first ? fail : pass);
  if (!fail_first) jump(wave, target);
}

void s_cbranch_g_fork(Wave& wave, const Inst& inst) {
  fork(wave, wave.read_s64(inst.src[0]), wave.read_s64(inst.src[1]));
}

void s_cbranch_i_fork(Wave& wave, const Inst& inst) {
  const Operand& condition = inst.src[0].kind == OperandKind::kScalar ? inst.src[0] : inst.dst;
  fork(wave, wave.read_s64(condition),
       next_pc(wave) + static_cast<uint64_t>(int64_t{inst.imm16} * 4));
}

void s_cbranch_join(Wave& wave, const Inst& inst) {
  if (fork_height(wave) == wave.read_s32(inst.src[0])) return;
  set_fork_height(wave, fork_height(wave) - 1);
  const uint32_t at = fork_height(wave) * 4;
  wave.set_s64(slot::kExecLo, wave.s64(at));
  jump(wave, wave.s64(at + 2));
}

// gfx9: VSKIP makes vector instructions do nothing. Nothing emits it; only clearing it is
// supported.
void s_setvskip(Wave& wave, const Inst& inst) {
  if ((wave.read_s32(inst.src[0]) >> (wave.read_s32(inst.src[1]) & 31) & 1) != 0)
    wave.raise(FaultKind::kUnimplemented, "s_setvskip turning VSKIP on");
}

// gfx10: runs a loop body for the low half of a wave64, then for the high half.
void s_subvector_loop_begin(Wave& wave, const Inst& inst) {
  if (wave.s64(slot::kExecLo) == 0) return jump_relative(wave, inst);
  if (wave.s[slot::kExecLo] == 0) return wave.write_s32(inst.dst, 0);
  wave.write_s32(inst.dst, wave.s[slot::kExecHi]);
  wave.s[slot::kExecHi] = 0;
}
void s_subvector_loop_end(Wave& wave, const Inst& inst) {
  const uint32_t saved = wave.read_s32(inst.dst);
  if (wave.s[slot::kExecHi] != 0) {
    wave.s[slot::kExecLo] = saved;
  } else if (saved != 0) {
    wave.s[slot::kExecHi] = saved;
    wave.write_s32(inst.dst, wave.s[slot::kExecLo]);
    wave.s[slot::kExecLo] = 0;
    jump_relative(wave, inst);
  }
}

// --- SGPRs by index. M0 is added to the register number; leaving the SGPRs is illegal.

constexpr uint32_t kSgprs = slot::kVccHi + 1;  // s0 to VCC

bool index_sgpr(Wave& wave, uint32_t base, uint32_t offset, uint32_t dwords, uint32_t* at) {
  if (base < kSgprs && offset < kSgprs && base + offset + dwords <= kSgprs) {
    *at = base + offset;
    return true;
  }
  wave.raise(FaultKind::kIllegalInstruction, "M0 indexes past the scalar registers");
  return false;
}

// D = SGPR[S0 + M0].
template <class T>
void s_movrels(Wave& wave, const Inst& inst) {
  uint32_t at = 0;
  if (!index_sgpr(wave, inst.src[0].index, wave.s[slot::kM0], sizeof(T) / 4, &at)) return;
  if constexpr (sizeof(T) == 8) wave.write_s64(inst.dst, wave.s64(at));
  else wave.write_s32(inst.dst, wave.s[at]);
}
// SGPR[D + M0] = S0. D is only a base, so the decoder lists it as the first source.
template <class T>
void s_movreld(Wave& wave, const Inst& inst) {
  const bool listed = inst.dst.kind == OperandKind::kNone;
  const Operand& base = listed ? inst.src[0] : inst.dst;
  const Operand& source = listed ? inst.src[1] : inst.src[0];
  uint32_t at = 0;
  if (!index_sgpr(wave, base.index, wave.s[slot::kM0], sizeof(T) / 4, &at)) return;
  if constexpr (sizeof(T) == 8) wave.set_s64(at, wave.read_s64(source));
  else wave.s[at] = wave.read_s32(source);
}
// SGPR[D + M0[25:16]] = SGPR[S0 + M0[9:0]].
void s_movrelsd_2_b32(Wave& wave, const Inst& inst) {
  const uint32_t m0 = wave.s[slot::kM0];
  uint32_t from = 0;
  uint32_t to = 0;
  if (!index_sgpr(wave, inst.src[0].index, m0 & 0x3ff, 1, &from)) return;
  if (!index_sgpr(wave, inst.dst.index, m0 >> 16 & 0x3ff, 1, &to)) return;
  wave.s[to] = wave.s[from];
}

// --- gfx9: vector registers by index. The vector handlers add M0[7:0] to the operands that
// --- M0[15:12] names.

void s_set_gpr_idx_on(Wave& wave, const Inst& inst) {
  const uint32_t index = wave.read_s32(inst.src[0]);
  const uint32_t which = static_cast<uint32_t>(inst.src[1].imm) & 15;
  wave.s[slot::kM0] = (wave.s[slot::kM0] & ~0xf0ffu) | (index & 0xff) | which << 12;
  set_gpr_index_mode(wave, true);
}
void s_set_gpr_idx_idx(Wave& wave, const Inst& inst) {
  wave.s[slot::kM0] = (wave.s[slot::kM0] & ~0xffu) | (wave.read_s32(inst.src[0]) & 0xff);
}

// --- Hardware registers. imm16 = (size - 1) << 11 | offset << 6 | register.

struct HwregField {
  uint32_t id, offset, size;
  explicit HwregField(const Inst& inst)
      : id(inst.imm16 & 63), offset(inst.imm16 >> 6 & 31), size((inst.imm16 >> 11 & 31) + 1) {}
  uint32_t mask() const { return size == 32 ? ~0u : (1u << size) - 1; }
};

void s_getreg_b32(Wave& wave, const Inst& inst) {
  const HwregField field(inst);
  wave.write_s32(inst.dst, read_hwreg(wave, field.id) >> field.offset & field.mask());
}
void s_setreg_b32(Wave& wave, const Inst& inst) {
  const HwregField field(inst);
  // The value is the only other operand; the destination field of the encoding may hold it.
  const Operand& source = inst.src[0].kind != OperandKind::kNone ? inst.src[0] : inst.dst;
  write_hwreg(wave, field.id, wave.read_s32(source) << field.offset, field.mask() << field.offset);
}

// gfx11: messages with an answer. Only the real-time clock has one here; the others read as zero.
void s_sendmsg_rtn(Wave& wave, const Inst& inst) {
  constexpr int kGetRealtime = 131;
  const int message =
      inst.src[0].kind == OperandKind::kImm ? static_cast<int>(inst.src[0].imm) : inst.imm16;
  uint64_t answer = 0;
  if (message == kGetRealtime)
    answer =
        wave.dispatch->host != nullptr ? wave.dispatch->host->clock_ticks() : wave.executed / 10;
  if (inst.op == Op::s_sendmsg_rtn_b64) wave.write_s64(inst.dst, answer);
  else wave.write_s32(inst.dst, static_cast<uint32_t>(answer));
}

// Waits of the SOPK form (gfx10's per-counter waits): memory is always up to date here.
void s_waitcnt_one(Wave&, const Inst&) {}

using u32 = uint32_t;
using u64 = uint64_t;

}  // namespace

Handler find_sop_state(const isa::Inst& inst, Shape) {
  switch (inst.op) {
    case Op::s_and_saveexec_b32: return save_exec<u32, op_and<u32>>;
    case Op::s_and_saveexec_b64: return save_exec<u64, op_and<u64>>;
    case Op::s_or_saveexec_b32: return save_exec<u32, op_or<u32>>;
    case Op::s_or_saveexec_b64: return save_exec<u64, op_or<u64>>;
    case Op::s_xor_saveexec_b32: return save_exec<u32, op_xor<u32>>;
    case Op::s_xor_saveexec_b64: return save_exec<u64, op_xor<u64>>;
    case Op::s_nand_saveexec_b32: return save_exec<u32, op_nand<u32>>;
    case Op::s_nand_saveexec_b64: return save_exec<u64, op_nand<u64>>;
    case Op::s_nor_saveexec_b32: return save_exec<u32, op_nor<u32>>;
    case Op::s_nor_saveexec_b64: return save_exec<u64, op_nor<u64>>;
    case Op::s_xnor_saveexec_b32: return save_exec<u32, op_xnor<u32>>;
    case Op::s_xnor_saveexec_b64: return save_exec<u64, op_xnor<u64>>;
    case Op::s_andn1_saveexec_b32: return save_exec<u32, op_andn1<u32>>;
    case Op::s_andn1_saveexec_b64: return save_exec<u64, op_andn1<u64>>;
    case Op::s_andn2_saveexec_b32: return save_exec<u32, op_andn2<u32>>;
    case Op::s_andn2_saveexec_b64: return save_exec<u64, op_andn2<u64>>;
    case Op::s_orn1_saveexec_b32: return save_exec<u32, op_orn1<u32>>;
    case Op::s_orn1_saveexec_b64: return save_exec<u64, op_orn1<u64>>;
    case Op::s_orn2_saveexec_b32: return save_exec<u32, op_orn2<u32>>;
    case Op::s_orn2_saveexec_b64: return save_exec<u64, op_orn2<u64>>;
    case Op::s_andn1_wrexec_b32: return write_exec_too<u32, op_andn1<u32>>;
    case Op::s_andn1_wrexec_b64: return write_exec_too<u64, op_andn1<u64>>;
    case Op::s_andn2_wrexec_b32: return write_exec_too<u32, op_andn2<u32>>;
    case Op::s_andn2_wrexec_b64: return write_exec_too<u64, op_andn2<u64>>;
    case Op::s_getpc_b64: return s_getpc_b64;
    case Op::s_setpc_b64: return s_setpc_b64;
    case Op::s_swappc_b64: return s_swappc_b64;
    case Op::s_call_b64: return s_call_b64;
    case Op::s_rfe_b64:
    case Op::s_rfe_restore_b64: return needs_privilege;
    case Op::s_cbranch_g_fork: return s_cbranch_g_fork;
    case Op::s_cbranch_i_fork: return s_cbranch_i_fork;
    case Op::s_cbranch_join: return s_cbranch_join;
    case Op::s_setvskip: return s_setvskip;
    case Op::s_subvector_loop_begin: return s_subvector_loop_begin;
    case Op::s_subvector_loop_end: return s_subvector_loop_end;
    case Op::s_movrels_b32: return s_movrels<u32>;
    case Op::s_movrels_b64: return s_movrels<u64>;
    case Op::s_movreld_b32: return s_movreld<u32>;
    case Op::s_movreld_b64: return s_movreld<u64>;
    case Op::s_movrelsd_2_b32:  // LLVM decodes constants, too
      return inst.src[0].is(OperandKind::kScalar) ? s_movrelsd_2_b32 : nullptr;
    case Op::s_set_gpr_idx_on: return s_set_gpr_idx_on;
    case Op::s_set_gpr_idx_idx: return s_set_gpr_idx_idx;
    case Op::s_getreg_b32: return s_getreg_b32;
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32: return s_setreg_b32;
    case Op::s_sendmsg_rtn_b32:
    case Op::s_sendmsg_rtn_b64: return s_sendmsg_rtn;
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_lgkmcnt: return s_waitcnt_one;
    default: return nullptr;
  }
}

}  // namespace wavetap::emu
