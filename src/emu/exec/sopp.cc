// SOPP: branches, barriers, messages, waits and hints.
//
// Memory accesses complete in order here, so every wait is over at once; priorities, prefetches and
// scheduling hints change nothing a program can see.
#include <cstdint>

#include "emu/exec.h"
#include "emu/hwreg.h"
#include "emu/jump_cache.h"
#include "emu/watch_state.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
namespace slot = isa::slot;

// --- Branches.

// PC += 4 + imm * 4.
void take(Wave& wave, const Inst& inst) {
  if (wave.watch != nullptr && wave.watch->counters != nullptr)
    ++wave.watch->counters->branch_taken;
  if (inst.target >= 0) {
    wave.pc = inst.target;
    return;
  }
  jump(wave, wave.program->pc_of(wave.pc).value + static_cast<uint64_t>(int64_t{inst.imm16} * 4));
}

void s_branch(Wave& wave, const Inst& inst) { take(wave, inst); }
void s_cbranch_scc0(Wave& wave, const Inst& inst) {
  if (!wave.scc) take(wave, inst);
}
void s_cbranch_scc1(Wave& wave, const Inst& inst) {
  if (wave.scc) take(wave, inst);
}
void s_cbranch_vccz(Wave& wave, const Inst& inst) {
  if (wave.vcc() == 0) take(wave, inst);
}
void s_cbranch_vccnz(Wave& wave, const Inst& inst) {
  if (wave.vcc() != 0) take(wave, inst);
}
void s_cbranch_execz(Wave& wave, const Inst& inst) {
  if (wave.exec() == 0) take(wave, inst);
}
void s_cbranch_execnz(Wave& wave, const Inst& inst) {
  if (wave.exec() != 0) take(wave, inst);
}

// --- The wave among others.

void s_endpgm(Wave& wave, const Inst&) { wave.stop(WaveState::kFinished); }

// Continues when every wave of the workgroup that has not ended got here. One wave is all of them,
// and goes on at once, unless watchers are to see it arrive and pass.
void s_barrier(Wave& wave, const Inst&) {
  const bool is_watched = wave.watch != nullptr && !wave.watch->watchers.empty();
  if (wave.has_others || is_watched) wave.stop(WaveState::kAtBarrier);
}

void s_sleep(Wave& wave, const Inst&) { wave.yield(); }

// --- Messages and traps.

constexpr int kMessageInterrupt = 1;

// The interrupt reaches the host once this slice is over; nothing later in the wave can depend on
// it having been seen. Other messages talk to graphics hardware.
void s_sendmsg(Wave& wave, const Inst& inst) {
  if ((inst.imm16 & 15) != kMessageInterrupt) return;
  wave.workgroup->interrupt_requested = true;
  wave.budget = 0;
}

// Without a debugger nothing would ever resume the wave.
void halt(Wave& wave, const Inst&) { wave.raise(FaultKind::kTrap, "the wave halted itself"); }

void s_sethalt(Wave& wave, const Inst& inst) {
  if ((inst.imm16 & 1) != 0) halt(wave, inst);
}
void s_sendmsghalt(Wave& wave, const Inst& inst) {
  s_sendmsg(wave, inst);
  halt(wave, inst);
}

// 2: device assert and abort (llvm.trap). 3: llvm.debugtrap, ignored when no debugger is attached,
// as the runtime's trap handler does. Any other number is an error to that handler.
void s_trap(Wave& wave, const Inst& inst) {
  constexpr uint8_t kAbort = 2;
  constexpr uint8_t kDebug = 3;
  const auto id = static_cast<uint8_t>(inst.imm16);
  if (id == kDebug) return;
  wave.raise(FaultKind::kTrap, id == kAbort ? "s_trap 2: device assert or abort" : "s_trap");
  wave.fault.trap_id = id;
}

// Padding behind the end of a program; reaching it is an error.
void s_code_end(Wave& wave, const Inst&) {
  wave.raise(FaultKind::kIllegalInstruction, "ran into the padding behind the program");
}

// s_setkill ends the wave.
void s_setkill(Wave& wave, const Inst& inst) {
  if ((inst.imm16 & 1) != 0) wave.stop(WaveState::kFinished);
}

// --- MODE.

// MODE.round = imm[3:0]; MODE.denorm = imm[3:0].
void s_round_mode(Wave& wave, const Inst& inst) {
  set_mode_register(wave,
                    (mode_register(wave) & ~0xfu) | (static_cast<uint32_t>(inst.imm16) & 0xf));
}
void s_denorm_mode(Wave& wave, const Inst& inst) {
  set_mode_register(wave, (mode_register(wave) & ~0xf0u) | (static_cast<uint32_t>(inst.imm16) & 0xf)
                                                               << 4);
}

// gfx9: which operands are indexed, and the end of indexing; see exec/sop_state.cc.
void s_set_gpr_idx_mode(Wave& wave, const Inst& inst) {
  wave.s[slot::kM0] = (wave.s[slot::kM0] & ~0xf000u) | (static_cast<uint32_t>(inst.imm16) & 15)
                                                           << 12;
  set_gpr_index_mode(wave, wave.gpr_index_mode);
}
void s_set_gpr_idx_off(Wave& wave, const Inst&) { set_gpr_index_mode(wave, false); }

void no_effect(Wave&, const Inst&) {}

}  // namespace

Handler find_sopp(const isa::Inst& inst, Shape) {
  switch (inst.op) {
    case Op::s_branch:
    case Op::s_branch_pad_s_nop: return s_branch;
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc0_pad_s_nop: return s_cbranch_scc0;
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_scc1_pad_s_nop: return s_cbranch_scc1;
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccz_pad_s_nop: return s_cbranch_vccz;
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_vccnz_pad_s_nop: return s_cbranch_vccnz;
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execz_pad_s_nop: return s_cbranch_execz;
    case Op::s_cbranch_execnz:
    case Op::s_cbranch_execnz_pad_s_nop: return s_cbranch_execnz;
    // Branches on conditions of an attached debugger: never true here.
    case Op::s_cbranch_cdbgsys:
    case Op::s_cbranch_cdbgsys_pad_s_nop:
    case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbguser_pad_s_nop:
    case Op::s_cbranch_cdbgsys_and_user:
    case Op::s_cbranch_cdbgsys_and_user_pad_s_nop:
    case Op::s_cbranch_cdbgsys_or_user:
    case Op::s_cbranch_cdbgsys_or_user_pad_s_nop: return no_effect;
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done: return s_endpgm;
    case Op::s_barrier: return s_barrier;
    case Op::s_sleep: return s_sleep;
    case Op::s_sendmsg: return s_sendmsg;
    case Op::s_sendmsghalt: return s_sendmsghalt;
    case Op::s_sethalt: return s_sethalt;
    case Op::s_setkill: return s_setkill;
    case Op::s_trap: return s_trap;
    case Op::s_code_end: return s_code_end;
    case Op::s_round_mode: return s_round_mode;
    case Op::s_denorm_mode: return s_denorm_mode;
    case Op::s_set_gpr_idx_mode: return s_set_gpr_idx_mode;
    case Op::s_set_gpr_idx_off: return s_set_gpr_idx_off;
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_wait_idle:
    case Op::s_wait_event:
    case Op::s_setprio:
    case Op::s_wakeup:
    case Op::s_icache_inv:
    case Op::s_incperflevel:
    case Op::s_decperflevel:
    case Op::s_ttracedata:
    case Op::s_ttracedata_imm:
    case Op::s_clause:
    case Op::s_inst_prefetch:
    case Op::s_delay_alu:
    case Op::s_singleuse_vdst: return no_effect;
    default: return nullptr;
  }
}

}  // namespace wavetap::emu
