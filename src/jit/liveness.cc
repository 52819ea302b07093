#include "jit/liveness.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "emu/exec/cache_fence.h"
#include "emu/exec/vop_row.h"
#include "emu/register_bytes.h"
#include "jit/exec_regions.h"
#include "jit/idle_ops.h"

namespace wavetap::jit {
namespace {

using isa::Family;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
namespace slot = isa::slot;
namespace implied = isa::implied;

// Of longer programs all registers count as read: it would take long, and much memory.
constexpr int32_t kLongestProgram = 30000;
constexpr int kMostPasses = 32;

constexpr LiveRegisters all_registers() {
  LiveRegisters all{};
  for (uint64_t& word : all.rows) word = ~uint64_t{0};
  for (uint64_t& word : all.slots) word = ~uint64_t{0};
  return all;
}

void add(LiveRegisters& to, const LiveRegisters& more) {
  for (size_t i = 0; i < std::size(to.rows); ++i) to.rows[i] |= more.rows[i];
  for (size_t i = 0; i < std::size(to.slots); ++i) to.slots[i] |= more.slots[i];
}
void take_off(LiveRegisters& from, const LiveRegisters& less) {
  for (size_t i = 0; i < std::size(from.rows); ++i) from.rows[i] &= ~less.rows[i];
  for (size_t i = 0; i < std::size(from.slots); ++i) from.slots[i] &= ~less.slots[i];
}
bool is_same(const LiveRegisters& a, const LiveRegisters& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// What an instruction does to them.
struct Effect {
  enum class Exec : uint8_t { kSame, kGains, kAny };

  LiveRegisters reads{};
  LiveRegisters overwrites{};  // whole, in lanes of EXEC
  Exec exec = Exec::kSame;
  bool reads_all = false;
  bool ends = false;  // the wave
};

bool is_exec(const Operand& operand) {
  return operand.is(OperandKind::kScalar) &&
         operand.index + std::max<uint32_t>(operand.dwords, 1) > slot::kExecLo &&
         operand.index <= slot::kExecHi;
}

// `least`: what is read as a mask, or as a base, has so many dwords whatever the operand says.
void add_operand(LiveRegisters& to, const Operand& operand, uint32_t least = 1) {
  const uint32_t count = std::max<uint32_t>(operand.dwords, least);
  if (operand.is(OperandKind::kVgpr)) {
    for (uint32_t i = 0; i < std::max<uint32_t>(operand.dwords, 1); ++i)
      to.set_row(operand.index + i);
  } else if (operand.is(OperandKind::kScalar) && operand.index == slot::kVccz) {
    to.set_slot(slot::kVccLo);
    to.set_slot(slot::kVccHi);
  } else if (operand.is(OperandKind::kScalar)) {
    for (uint32_t i = 0; i < count; ++i) to.set_slot(operand.index + i);
  }
}

// All that is named is read, results too, and nothing is overwritten: true of whatever is followed.
void read_operands(Effect& effect, const Inst& inst) {
  for (const Operand& source : inst.src) add_operand(effect.reads, source, 2);
  for (const Operand* operand : {&inst.vaddr, &inst.saddr, &inst.soffset, &inst.dst, &inst.dst2})
    add_operand(effect.reads, *operand, 2);
  const bool asks_vcc = inst.op == Op::s_cbranch_vccz || inst.op == Op::s_cbranch_vccnz;
  if ((inst.implied_reads & implied::kVcc) != 0 || asks_vcc) {
    effect.reads.set_slot(slot::kVccLo);
    effect.reads.set_slot(slot::kVccHi);
  }
}

// The result is written whole and not read.
void overwrite(Effect& effect, const Inst& inst, const Operand& result) {
  LiveRegisters written{};
  add_operand(written, result);
  const auto names = [&](const Operand& operand) {
    LiveRegisters named{};
    add_operand(named, operand, 2);
    for (size_t i = 0; i < std::size(named.rows); ++i)
      if ((named.rows[i] & written.rows[i]) != 0) return true;
    for (size_t i = 0; i < std::size(named.slots); ++i)
      if ((named.slots[i] & written.slots[i]) != 0) return true;
    return false;
  };
  add(effect.overwrites, written);
  const bool is_read = std::any_of(std::begin(inst.src), std::end(inst.src), names) ||
                       names(inst.vaddr) || names(inst.saddr) || names(inst.soffset);
  if (!is_read) take_off(effect.reads, written);
}

void follow_scalar(Effect& effect, const Inst& inst) {
  switch (inst.op) {
    case Op::s_cmov_b32:
    case Op::s_cmov_b64:
    case Op::s_cmovk_i32:
    case Op::s_bitset0_b32:
    case Op::s_bitset0_b64:
    case Op::s_bitset1_b32:
    case Op::s_bitset1_b64:
    case Op::s_addk_i32:
    case Op::s_mulk_i32: return;
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32:
    case Op::s_swappc_b64:
    case Op::s_setpc_b64:
    case Op::s_call_b64: effect.reads_all = true; return;
    default: break;
  }
  // SOPC and comparisons with constants have no result but SCC; what stands there they read.
  const std::string_view name = isa::op_name(inst.op);
  for (const char* const other : {"s_cbranch", "s_subvector", "s_rfe", "s_sendmsg"})
    effect.reads_all |= name.starts_with(other);
  for (const char* const other : {"s_cmp", "s_bitcmp", "s_fmac"})
    if (name.starts_with(other)) return;
  overwrite(effect, inst, inst.dst);
}

void follow_vector(Effect& effect, const Inst& inst, bool wave64) {
  const std::string_view name = isa::op_name(inst.op);
  for (const char* const other :
       {"v_swap", "v_permlane", "v_readlane", "v_writelane", "v_readfirst"})
    if (name.starts_with(other)) return;
  const emu::VopFacts* facts = emu::find_vop_facts(inst);
  if (facts == nullptr || inst.dpp != isa::Dpp::kNone) return;
  bool reads_result = inst.dst_preserve;
  for (size_t k = 0; k < facts->sources; ++k) reads_result |= facts->source[k].is_old;
  if (inst.dst.is(OperandKind::kVgpr) && !reads_result) overwrite(effect, inst, inst.dst);
  // Masks are written whole; lanes that are off get a zero.
  LiveRegisters masks{};
  const auto mask = [&](uint32_t at) {
    masks.set_slot(at);
    if (wave64) masks.set_slot(at + 1);
  };
  for (const Operand* result : {&inst.dst, &inst.dst2})
    if (result->is(OperandKind::kScalar)) mask(result->index);
  if ((inst.implied_writes & implied::kVcc) != 0) mask(slot::kVccLo);
  LiveRegisters sources{};
  for (const Operand& source : inst.src) add_operand(sources, source, 2);
  if ((inst.implied_reads & implied::kVcc) != 0) {
    sources.set_slot(slot::kVccLo);
    sources.set_slot(slot::kVccHi);
  }
  add(effect.overwrites, masks);
  take_off(masks, sources);
  take_off(effect.reads, masks);
}

void follow_load(Effect& effect, const Inst& inst) {
  const bool is_whole = emu::loaded_bytes(inst.op) == emu::kAllBytes &&
                        !emu::has_odd_component(inst.op) && !inst.tfe && !inst.lds && !inst.gds;
  if (inst.dst.is(OperandKind::kVgpr) && is_whole) overwrite(effect, inst, inst.dst);
}

// Waves wait, sleep or send, and go on.
bool goes_on(Op op) {
  switch (op) {
    case Op::s_barrier:
    case Op::s_sleep:
    case Op::s_sendmsg:
    case Op::s_icache_inv: return true;
    default: return does_nothing(op) || isa::is_relative_jump(op);
  }
}

Effect::Exec exec_after(const Inst& inst) {
  const std::string_view name = isa::op_name(inst.op);
  if ((inst.implied_writes & implied::kExec) == 0 && !is_exec(inst.dst) && !is_exec(inst.dst2) &&
      !name.starts_with("v_cmpx"))
    return Effect::Exec::kSame;
  switch (inst.op) {
    case Op::s_or_saveexec_b32:
    case Op::s_or_saveexec_b64: return Effect::Exec::kGains;
    case Op::s_or_b32:
    case Op::s_or_b64:
      for (const Operand& source : {inst.src[0], inst.src[1]})
        if (source.is(OperandKind::kScalar) && source.index == inst.dst.index)
          return Effect::Exec::kGains;
      return Effect::Exec::kAny;
    case Op::s_mov_b64:
      return inst.src[0].is(OperandKind::kImm) && inst.src[0].imm == ~uint64_t{0}
                 ? Effect::Exec::kGains
                 : Effect::Exec::kAny;
    default: return Effect::Exec::kAny;
  }
}

Effect effect_of(const Inst& inst, bool wave64) {
  Effect effect;
  read_operands(effect, inst);
  effect.exec = exec_after(inst);
  switch (inst.family) {
    case Family::kSop: follow_scalar(effect, inst); break;
    case Family::kSopp:
      effect.ends = inst.op == Op::s_endpgm;
      effect.reads_all = !effect.ends && !goes_on(inst.op);
      break;
    case Family::kSmem:
      if (inst.dst.is(OperandKind::kScalar)) overwrite(effect, inst, inst.dst);
      break;
    case Family::kVop:
    case Family::kVopc: follow_vector(effect, inst, wave64); break;
    case Family::kVopd:
      if (inst.dst.is(OperandKind::kVgpr)) follow_vector(effect, inst, wave64);
      break;
    case Family::kDs:
    case Family::kFlat: follow_load(effect, inst); break;
    case Family::kMatrix: break;
    case Family::kMubuf: effect.reads_all = !emu::is_cache_fence(inst.op); break;
    default: effect.reads_all = true;
  }
  return effect;
}

// Registers by index, anywhere in the program.
bool has_indexes(const isa::Program& program) {
  constexpr uint32_t kModeRegister = 1;
  constexpr uint32_t kIndexBit = 27;
  return std::any_of(program.insts(), program.insts() + program.size(), [&](const Inst& inst) {
    const std::string_view name = isa::op_name(inst.op);
    if (name.starts_with("s_setreg")) {
      const auto which = static_cast<uint32_t>(inst.imm16);
      const uint32_t end = (which >> 6 & 31) + (which >> 11 & 31) + 1;
      return (which & 63) == kModeRegister && end > kIndexBit;
    }
    return name.starts_with("s_set_gpr_idx") || name.starts_with("v_movrel") ||
           name.starts_with("s_movrel") || name.starts_with("v_swaprel");
  });
}

// Follows all ways backwards until nothing new is found.
class Search {
 public:
  Search(const isa::Program& program, std::vector<LiveRegisters>& live)
      : program_(program), live_(live), regions_(program), later_(live.size()) {
    for (int32_t i = 0; i < program.size(); ++i)
      effects_.push_back(effect_of(program.insts()[i], program.wave64()));
    // Both halves of a pair read before either writes.
    for (int32_t i = 0; i + 1 < program.size(); ++i)
      if (program.insts()[i].vopd_first)
        add(effects_[static_cast<size_t>(i)].reads, effects_[static_cast<size_t>(i) + 1].reads);
    live_.back() = later_.back() = all_registers();
  }
  // False: it took too long.
  bool run() {
    for (int pass = 0; pass < kMostPasses; ++pass) {
      bool has_changed = false;
      for (int32_t i = program_.size() - 1; i >= 0; --i) has_changed |= follow(i);
      if (!has_changed) return true;
    }
    return false;
  }

 private:
  bool follow(int32_t i) {
    const auto at = static_cast<size_t>(i);
    const Inst& inst = program_.insts()[i];
    const Effect& effect = effects_[at];
    LiveRegisters live{};
    LiveRegisters later{};
    if (effect.reads_all) {
      live = later = all_registers();
    } else if (!effect.ends) {
      const bool jumps = isa::is_relative_jump(inst.op);
      if (inst.op != Op::s_branch) lead_to(at + 1, live, later);
      if (jumps) {
        const bool is_inside = inst.target >= 0 && inst.target < program_.size();
        lead_to(is_inside ? static_cast<size_t>(inst.target) : live_.size() - 1, live, later);
      }
      if (effect.exec == Effect::Exec::kAny) lose_lanes(i, live, later);
      take_off(live, effect.overwrites);
      add(live, effect.reads);
      add(later, effect.reads);
    }
    const bool has_changed = !is_same(live, live_[at]) || !is_same(later, later_[at]);
    live_[at] = live;
    later_[at] = later;
    return has_changed;
  }
  // Lanes that are off from here on need what is read where they come back.
  void lose_lanes(int32_t i, LiveRegisters& live, const LiveRegisters& later) const {
    const std::vector<int32_t>* ends = regions_.ends(i);
    if (ends == nullptr) {
      std::copy(std::begin(later.rows), std::end(later.rows), std::begin(live.rows));
      return;
    }
    for (const int32_t end : *ends) {
      const LiveRegisters& behind = live_[static_cast<size_t>(end) + 1];
      for (size_t k = 0; k < std::size(live.rows); ++k) live.rows[k] |= behind.rows[k];
    }
  }
  void lead_to(size_t at, LiveRegisters& live, LiveRegisters& later) const {
    add(live, live_[at]);
    add(later, later_[at]);
  }

  const isa::Program& program_;
  std::vector<LiveRegisters>& live_;
  const ExecRegions regions_;
  std::vector<LiveRegisters> later_;  // read at all, overwritten before or not
  std::vector<Effect> effects_;
};

}  // namespace

Liveness::Liveness(const isa::Program& program) : live_(static_cast<size_t>(program.size()) + 1) {
  if (program.size() <= kLongestProgram && !has_indexes(program) && Search(program, live_).run())
    return;
  std::fill(live_.begin(), live_.end(), all_registers());
}

std::vector<emu::RowRange> Liveness::rows_read_at_start() const {
  std::vector<emu::RowRange> ranges;
  for (uint32_t reg = 0; reg < 512; ++reg) {
    if (!live_.front().has_row(reg)) continue;
    if (ranges.empty() || ranges.back().end != reg) ranges.push_back({reg, reg});
    ranges.back().end = reg + 1;
  }
  return ranges;
}

}  // namespace wavetap::jit
