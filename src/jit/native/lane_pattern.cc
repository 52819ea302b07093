#include <algorithm>

#include "emu/exec/operand_lanes.h"
#include "jit/native/vector_ops.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

namespace {

constexpr int kLanes = 64;

// The smallest of 16, 32 and 64 lanes that do not look beyond each other.
unsigned group_of(const LanePattern& pattern) {
  for (const int group : {16, 32}) {
    const auto stays = [&](int lane) {
      const int from = pattern.from[lane];
      const int first = pattern.from[lane % group];
      return from < 0 ? first < 0 : from / group == lane / group && from % group == first;
    };
    bool all = true;
    for (int lane = 0; lane < kLanes; ++lane) all = all && stays(lane);
    if (all) return static_cast<unsigned>(group);
  }
  return kLanes;
}

void set_dpp(LanePattern& pattern, const Inst& inst) {
  const bool is_dpp8 = inst.dpp == isa::Dpp::kDpp8;
  const emu::DppLanes lanes =
      is_dpp8 ? emu::dpp8_lanes(inst.dpp8) : emu::dpp16_lanes(inst.dpp_ctrl);
  for (int lane = 0; lane < kLanes; ++lane)
    pattern.from[lane] = (lanes.exists >> lane & 1) != 0 ? lanes.from[lane] : -1;
  pattern.only_active = !inst.fetch_inactive;
  if (is_dpp8) return;
  pattern.keeps_rest = !inst.bound_ctrl;
  pattern.written = emu::dpp_write_mask(inst);
}

void set_permlane16(LanePattern& pattern, const Inst& inst) {
  const uint64_t select = (inst.src[1].imm & 0xffffffffu) | inst.src[2].imm << 32;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = (inst.op == Op::v_permlanex16_b32 ? lane ^ 16 : lane) & ~15;
    pattern.from[lane] = row + static_cast<int>(select >> 4 * (lane % 16) & 15);
  }
  pattern.only_active = !inst.fetch_inactive;
  pattern.keeps_rest = !inst.bound_ctrl;
}

}  // namespace

LanePattern lane_pattern(const Inst& inst) {
  LanePattern pattern;
  if (inst.dpp != isa::Dpp::kNone) {
    set_dpp(pattern, inst);
  } else if (inst.op == Op::ds_swizzle_b32) {
    for (int lane = 0; lane < kLanes; ++lane)
      pattern.from[lane] = (lane & 32) | static_cast<int>(emu::swizzle_source(
                                             static_cast<uint32_t>(lane) & 31,
                                             static_cast<uint32_t>(inst.offset) & 0xffff));
  } else if (inst.op == Op::v_permlane16_b32 || inst.op == Op::v_permlanex16_b32) {
    set_permlane16(pattern, inst);
  } else {
    return pattern;
  }
  pattern.group = group_of(pattern);
  return pattern;
}

}  // namespace wavetap::jit
