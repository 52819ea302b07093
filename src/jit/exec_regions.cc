#include "jit/exec_regions.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "emu/exec/cache_fence.h"
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

// Longer ones are not followed: it would take long.
constexpr size_t kLongestRegion = 512;
constexpr int32_t kFarthestSave = 16;

bool is_cmpx(const Inst& inst) {
  return std::string_view(isa::op_name(inst.op)).starts_with("v_cmpx");
}

// Whether one of `count` scalars from `begin` on is written.
bool writes(const Inst& inst, uint32_t begin, uint32_t count, bool wave64) {
  const bool is_scalar = inst.family == Family::kSop || inst.family == Family::kSmem;
  const uint32_t least = wave64 && !is_scalar ? 2 : 1;  // masks, whatever the operand says
  const auto overlaps = [&](const Operand& operand) {
    return operand.is(OperandKind::kScalar) && operand.index < begin + count &&
           begin < operand.index + std::max<uint32_t>(operand.dwords, least);
  };
  const bool writes_vcc = (inst.implied_writes & implied::kVcc) != 0 && begin <= slot::kVccHi &&
                          begin + count > slot::kVccLo;
  return writes_vcc || overlaps(inst.dst) || overlaps(inst.dst2);
}
bool writes_exec(const Inst& inst) {
  return (inst.implied_writes & implied::kExec) != 0 || is_cmpx(inst) ||
         writes(inst, slot::kExecLo, 2, true);
}

bool names_exec(const Operand& operand) {
  return operand.is(OperandKind::kScalar) && operand.index == slot::kExecLo;
}

// Only lanes of its own, whatever EXEC is; on to the next instruction, or where it says.
bool keeps_to_lanes(const Inst& inst) {
  const std::string_view name = isa::op_name(inst.op);
  switch (inst.family) {
    case Family::kSop:
      for (const char* const other : {"s_setreg", "s_setpc", "s_swappc", "s_call", "s_cbranch",
                                      "s_subvector", "s_rfe", "s_sendmsg", "s_wqm", "s_quadmask"})
        if (name.starts_with(other)) return false;
      return true;
    case Family::kSopp:
      return inst.op == Op::s_barrier || inst.op == Op::s_endpgm || does_nothing(inst.op) ||
             isa::is_relative_jump(inst.op);
    case Family::kSmem: return true;
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd:
      for (const char* const other : {"v_readlane", "v_readfirst", "v_writelane", "v_permlane"})
        if (name.starts_with(other)) return false;
      return inst.dpp == isa::Dpp::kNone;
    case Family::kDs:
      if (name.find("_tr") != std::string_view::npos) return false;
      for (const char* const own : {"ds_read", "ds_write", "ds_load", "ds_store"})
        if (name.starts_with(own)) return !inst.gds;
      return false;
    case Family::kMubuf: return emu::is_cache_fence(inst.op);
    case Family::kFlat: return name.find("_tr") == std::string_view::npos && !inst.lds;
    default: return false;
  }
}

class Finder {
 public:
  explicit Finder(const isa::Program& program)
      : program_(program), is_target_(static_cast<size_t>(program.size()) + 1) {
    for (int32_t i = 0; i < program.size(); ++i)
      if (const Inst& inst = at(i); isa::is_relative_jump(inst.op) && is_inside(inst.target))
        is_target_[static_cast<size_t>(inst.target)] = true;
  }

  // Where EXEC, as it was before `index` takes lanes off, is kept.
  std::optional<uint32_t> saved(int32_t index) const {
    const Inst& inst = at(index);
    if (inst.op == (program_.wave64() ? Op::s_and_saveexec_b64 : Op::s_and_saveexec_b32))
      return inst.dst.is(OperandKind::kScalar) ? std::optional<uint32_t>(inst.dst.index)
                                               : std::nullopt;
    if (!is_cmpx(inst)) return std::nullopt;
    const Op move = program_.wave64() ? Op::s_mov_b64 : Op::s_mov_b32;
    for (int32_t i = index; i > std::max(0, index - kFarthestSave); --i) {
      if (is_target_[static_cast<size_t>(i)] || (i != index && writes_exec(at(i))))
        return std::nullopt;
      const Inst& before = at(i - 1);
      if (before.op != move || !names_exec(before.src[0]) || !before.dst.is(OperandKind::kScalar))
        continue;
      const auto overwrites = [&](const Inst& of) { return writes_saved(of, before.dst.index); };
      const Inst* first = program_.insts() + i;
      if (std::any_of(first, program_.insts() + index + 1, overwrites)) return std::nullopt;
      return before.dst.index;
    }
    return std::nullopt;
  }

  // All ways from behind `index` on; nothing when one of them is not understood.
  std::optional<std::vector<int32_t>> follow(int32_t index, uint32_t saved) const {
    std::vector<int32_t> ends;
    std::vector<int32_t> seen;
    std::vector<int32_t> open = {index + 1};
    while (!open.empty()) {
      const int32_t i = open.back();
      open.pop_back();
      if (std::find(seen.begin(), seen.end(), i) != seen.end()) continue;
      if (!is_inside(i) || seen.size() == kLongestRegion) return std::nullopt;
      seen.push_back(i);
      const Inst& inst = at(i);
      if (puts_back(inst, saved)) {
        ends.push_back(i);
        continue;
      }
      if (!keeps_to_lanes(inst) || writes_saved(inst, saved)) return std::nullopt;
      if (writes_exec(inst) && !takes_off(inst)) return std::nullopt;
      if (inst.op == Op::s_endpgm) continue;
      if (inst.op != Op::s_branch) open.push_back(i + 1);
      if (isa::is_relative_jump(inst.op)) open.push_back(inst.target);
    }
    return ends;
  }

 private:
  const Inst& at(int32_t i) const { return program_.insts()[i]; }
  bool is_inside(int32_t i) const { return i >= 0 && i < program_.size(); }
  bool writes_saved(const Inst& inst, uint32_t saved) const {
    return writes(inst, saved, program_.wave64() ? 2 : 1, program_.wave64());
  }

  bool puts_back(const Inst& inst, uint32_t saved) const {
    if (inst.op != (program_.wave64() ? Op::s_or_b64 : Op::s_or_b32) || !names_exec(inst.dst))
      return false;
    const auto is_saved = [&](const Operand& of) {
      return of.is(OperandKind::kScalar) && of.index == saved;
    };
    return (names_exec(inst.src[0]) && is_saved(inst.src[1])) ||
           (is_saved(inst.src[0]) && names_exec(inst.src[1]));
  }
  bool takes_off(const Inst& inst) const {
    if (is_cmpx(inst)) return true;
    const bool wave64 = program_.wave64();
    if (inst.op == (wave64 ? Op::s_and_saveexec_b64 : Op::s_and_saveexec_b32)) return true;
    const bool is_and = inst.op == (wave64 ? Op::s_and_b64 : Op::s_and_b32);
    const bool is_andn2 = inst.op == (wave64 ? Op::s_andn2_b64 : Op::s_andn2_b32);
    return (is_and || is_andn2) && names_exec(inst.dst) && names_exec(inst.src[0]);
  }

  const isa::Program& program_;
  std::vector<bool> is_target_;
};

}  // namespace

ExecRegions::ExecRegions(const isa::Program& program) {
  const Finder finder(program);
  for (int32_t i = 0; i < program.size(); ++i) {
    const std::optional<uint32_t> saved = finder.saved(i);
    if (!saved || *saved > slot::kVccLo) continue;  // null keeps nothing
    if (std::optional<std::vector<int32_t>> ends = finder.follow(i, *saved))
      ends_.emplace(i, std::move(*ends));
  }
}

}  // namespace wavetap::jit
