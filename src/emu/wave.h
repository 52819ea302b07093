// Wave: the architectural state of one wave, and what instruction handlers may do to it.
//
// Layout: vector registers are rows of `lanes` 32-bit values (structure of arrays), so one
// instruction is one loop over a row that the compiler vectorises. Scalars live in one array
// indexed by isa::slot numbers; VCC and EXEC are slots of it like any other.
//
// A handler reads every source before it writes any result, leaves lanes outside EXEC untouched,
// and reports trouble with raise(). It never touches guest memory except through translate().
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "amd/gfx_target.h"
#include "emu/compiler.h"
#include "emu/dispatch.h"
#include "emu/exec.h"
#include "emu/fault.h"
#include "emu/memory.h"
#include "isa/inst.h"
#include "isa/program.h"

namespace wavetap::emu {

struct Workgroup;  // workgroup.h
struct Step;       // lower.h
struct StepCount;  // count.h
class LoweredCode;
struct JumpCache;  // jump_cache.h
struct Watch;      // watch_state.h
struct WatchedStep;

// GPU address at which every wave sees its own scratch. Above the GPU's highest virtual address, so
// nothing else can be there; translate() gives each wave its own bytes.
inline constexpr uint64_t kScratchVa = uint64_t{1} << 47;
// Flat apertures, as KFD reports them: the top 16 bits select.
inline constexpr uint64_t kSharedAperture = uint64_t{1} << 48;
inline constexpr uint64_t kPrivateAperture = uint64_t{2} << 48;

// Recently used translations of one worker thread. Checked against Memory::epoch() by translate().
struct Tlb {
  static constexpr int kEntries = 8;
  MappedRange entry[kEntries];
  int next = 0;
  uint64_t epoch = 0;
};

// Floating-point environment, from MODE; s_setreg and s_round_mode change it.
struct FloatMode {
  uint8_t round_f32 = 0;  // 0 nearest-even, 1 +inf, 2 -inf, 3 zero
  uint8_t round_f16_f64 = 0;
  uint8_t denorm_f32 = 3;  // bit 0: inputs kept, bit 1: outputs kept
  uint8_t denorm_f16_f64 = 3;
  bool ieee = true;
  bool dx10_clamp = true;
  bool fp16_overflow = false;

  bool operator==(const FloatMode&) const = default;
};

enum class WaveState : uint8_t {
  kRunning,
  kYielded,    // slept: run others first
  kTurnEnded,  // the others of its workgroup come as far first
  kAtBarrier,
  kLeftCode,  // goes on at jump_pc, which is not in `program`: the engine finds the code there
  kFinished,
  kFaulted,
};

struct alignas(64) Wave {
  uint32_t s[isa::slot::kCount] = {};
  // Compiled code compares it and vgpr_index as one number (jit/native/block_emitter.cc).
  alignas(8) FloatMode mode;
  // gfx9's VGPR indexing (s_set_gpr_idx_on): bits 0..2 add M0[7:0] to the VGPR number of
  // src0..src2, bit 3 to the destination's. 0 when off.
  uint8_t vgpr_index = 0;
  bool scc = false;
  WaveState state = WaveState::kRunning;
  uint8_t lanes = 64;           // wave size: 32 or 64; also the row length of v and a
  bool gpr_index_mode = false;  // MODE.GPR_IDX_EN; vgpr_index is then M0[15:12]
  uint32_t mode_rest = 0;       // bits of MODE kept nowhere else: exception enables and the like
  uint32_t trap_status = 0;     // TRAPSTS

  uint32_t* v = nullptr;                // VGPR rows: v[reg * lanes + lane]
  uint32_t* a = nullptr;                // AGPR rows; gfx90a: the part of v past the accum offset
  std::byte* compiled_state = nullptr;  // kCompiledStateBytes (compiler.h), in front of v
  // Rows a handler may touch; operands are checked when code is lowered.
  uint32_t vgpr_count = 0;
  uint32_t agpr_count = 0;

  int32_t pc = 0;           // index of the NEXT instruction; a branch handler assigns it
  int32_t slice_begin = 0;  // where its slice began; -1: in other code than it is in now
  int64_t budget = 0;       // instructions of this slice; zeroed to leave the run loop
  int64_t done = 0;         // steps of this slice before the one that runs
  // Compiled code (compiler.h) is one step but performs many instructions: how many more than steps
  // this slice has performed. They are taken off `budget`.
  int64_t extra = 0;
  const isa::Program* program = nullptr;
  const LoweredCode* code = nullptr;      // of `program`
  const Step* steps = nullptr;            // what runs `program`, by instruction index
  const Handler* handlers = nullptr;      // likewise, whatever compiled code stands in `steps`
  const StepCount* counts = nullptr;      // how each instruction counts, likewise
  const WatchedStep* watched = nullptr;   // who watches it, likewise; null: nobody
  std::atomic<uint32_t>* heat = nullptr;  // how often waves arrived there; null: nobody asks
  const LoweredCode* hot_code = nullptr;  // a place that has just become warm or hot, when not null
  int32_t hot_pc = 0;
  Heat hot_heat{};
  uint64_t jump_pc = 0;        // valid in state kLeftCode
  JumpCache* jumps = nullptr;  // of the worker now running this wave

  Workgroup* workgroup = nullptr;
  uint32_t wave_in_group = 0;
  // The workgroup's; its waves run on one host thread, so plain accesses do.
  std::byte* lds = nullptr;
  uint32_t lds_bytes = 0;
  std::byte* scratch = nullptr;  // this wave's, swizzled: (off/4)*4*lanes + lane*4 + off%4
  uint32_t scratch_bytes_per_lane = 0;

  // Before how many more instructions where waves wait for each other (lds_reuse.h) its turn ends,
  // until the next barrier; and whether it has ended before the one at pc.
  uint8_t turn_ends_left = 0;
  bool has_ended_turn = false;
  bool has_others = false;  // in its workgroup

  const Dispatch* dispatch = nullptr;
  Tlb* tlb = nullptr;  // of the worker now running this wave
  // The workgroup's; null when nobody counts or watches. Test it once per instruction at most.
  Watch* watch = nullptr;
  // Somebody wants to know what the instruction that runs does to memory. Memory instructions test
  // it, so that those which nobody asked about keep their fast ways in a watched dispatch.
  bool notes_accesses = false;
  uint64_t executed = 0;  // instructions so far, each attempt of one that waits included
  // The instruction at pc is a ds_gws_* that waits; it is tried again.
  bool waits_for_sync = false;
  uint32_t sync_generation = 0;  // of its resource, when the wait began
  // Valid in state kFaulted. Last: a wave that starts does not look at it (launch.cc).
  Fault fault;

  // --- Registers.
  uint32_t* vrow(uint32_t reg) { return v + size_t{reg} * lanes; }
  uint32_t* arow(uint32_t reg) { return a + size_t{reg} * lanes; }
  // Two neighbouring slots, the lower half first: how every host we build for stores 64 bits.
  uint64_t s64(uint32_t at) const {
    static_assert(std::endian::native == std::endian::little);
    uint64_t value;
    std::memcpy(&value, &s[at], sizeof value);
    return value;
  }
  void set_s64(uint32_t at, uint64_t value) { std::memcpy(&s[at], &value, sizeof value); }
  uint64_t exec() const { return lanes == 64 ? s64(isa::slot::kExecLo) : s[isa::slot::kExecLo]; }
  uint64_t full_exec() const { return lanes == 64 ? ~uint64_t{0} : 0xffffffffu; }
  uint64_t vcc() const { return lanes == 64 ? s64(isa::slot::kVccLo) : s[isa::slot::kVccLo]; }

  // A scalar operand's value: kScalar or kImm, 32 or 64 bits. SCC/VCCZ/EXECZ as sources work.
  uint32_t read_s32(const isa::Operand& operand) const;
  uint64_t read_s64(const isa::Operand& operand) const;
  void write_s32(const isa::Operand& operand, uint32_t value);
  void write_s64(const isa::Operand& operand, uint64_t value);
  // A lane mask operand: 32 bits in wave32, 64 in wave64.
  uint64_t read_mask(const isa::Operand& operand) const;
  void write_mask(const isa::Operand& operand, uint64_t mask);
  // Slots that are computed when read: SCC, VCCZ, EXECZ.
  uint32_t read_computed_slot(uint32_t at) const;

  // --- Control.
  // Leaves the run loop after this instruction with the state given.
  void stop(WaveState why) { state = why, budget = 0; }
  void yield() { stop(WaveState::kYielded); }
  // At an instruction where waves wait for each other: true when it is for another turn.
  bool ends_turn() {
    if (turn_ends_left == 0 || has_ended_turn) {
      has_ended_turn = false;
      return false;
    }
    --turn_ends_left;
    has_ended_turn = true;
    --pc;
    stop(WaveState::kTurnEnded);
    return true;
  }
  // Goes on at the absolute address `address`, once the engine has found the code there. Handlers
  // call jump() (jump_cache.h), which is quicker.
  void leave(uint64_t address) {
    jump_pc = address;
    stop(WaveState::kLeftCode);
  }
  // Address of the instruction being executed. Handlers only: pc already points past it.
  GpuAddr current_pc() const;
  // Stops the wave: the instruction before pc did wrong. First call wins. The engine adds which
  // workgroup it is.
  void raise(FaultKind kind, GpuAddr address, bool is_write = false, int lane = -1,
             const char* detail = "");
  void raise(FaultKind kind, const char* detail = "") { raise(kind, {}, false, -1, detail); }

  // --- Memory.
  // Host pointer for [address, address + size_bytes) of global memory (or this wave's kScratchVa
  // window), or null after raise(). Small and inline on a TLB hit.
  std::byte* translate(uint64_t address, uint32_t size_bytes, bool write, int lane);
  std::byte* translate_slow(uint64_t address, uint32_t size_bytes, bool write, int lane);
  // Offset of byte `offset` of `lane` in this wave's scratch.
  uint64_t scratch_offset(uint32_t offset, int lane) const {
    return uint64_t{offset / 4} * 4 * lanes + uint64_t(lane) * 4 + offset % 4;
  }
};

inline uint32_t Wave::read_s32(const isa::Operand& operand) const {
  if (operand.kind == isa::OperandKind::kImm) return static_cast<uint32_t>(operand.imm);
  return operand.index < isa::slot::kScc ? s[operand.index] : read_computed_slot(operand.index);
}

inline uint64_t Wave::read_s64(const isa::Operand& operand) const {
  if (operand.kind == isa::OperandKind::kImm) return operand.imm;
  if (operand.index == isa::slot::kNull) return 0;
  return operand.index < isa::slot::kScc ? s64(operand.index) : read_computed_slot(operand.index);
}

inline void Wave::write_s32(const isa::Operand& operand, uint32_t value) {
  if (operand.index != isa::slot::kNull) s[operand.index] = value;
}

inline void Wave::write_s64(const isa::Operand& operand, uint64_t value) {
  if (operand.index != isa::slot::kNull) set_s64(operand.index, value);
}

inline uint64_t Wave::read_mask(const isa::Operand& operand) const {
  return lanes == 64 ? read_s64(operand) : read_s32(operand);
}

inline void Wave::write_mask(const isa::Operand& operand, uint64_t mask) {
  if (lanes == 64) write_s64(operand, mask);
  else write_s32(operand, static_cast<uint32_t>(mask));
}

inline std::byte* Wave::translate(uint64_t address, uint32_t size_bytes, bool write, int lane) {
  if (dispatch->memory->epoch() == tlb->epoch) {
    for (const MappedRange& range : tlb->entry)
      if (range.contains(address, size_bytes) && (write ? range.writable : range.readable))
        return range.host + (address - range.begin);
  }
  return translate_slow(address, size_bytes, write, lane);
}

// Calls f(lane) for each set bit of `mask`, lowest first.
template <class F>
void for_each_lane(uint64_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

}  // namespace wavetap::emu
