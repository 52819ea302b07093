#include "emu/exec/operand_lanes.h"

#include <algorithm>
#include <bit>

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Operand;
using isa::OperandKind;

constexpr int kMaxLanes = 64;

// The lane that `lane` reads, or -1 when there is none in its row or wave.
constexpr int dpp16_source_lane(int control, int lane, int lanes) {
  const int row = lane & ~15;
  const int column = lane & 15;
  const int amount = control & 15;
  if (control < 0x100) return (lane & ~3) | (control >> 2 * (lane & 3) & 3);  // quad_perm
  switch (control & 0x1f0) {
    case 0x100: return column + amount < 16 ? lane + amount : -1;  // row_shl
    case 0x110: return column - amount >= 0 ? lane - amount : -1;  // row_shr
    case 0x120: return row | ((column - amount) & 15);             // row_ror
    case 0x150: return row | amount;                               // row_share, row_newbcast
    case 0x160: return row | (column ^ amount);                    // row_xmask
    default: break;
  }
  switch (control) {
    case 0x130: return lane + 1 < lanes ? lane + 1 : -1;  // wave_shl:1
    case 0x134: return (lane + 1) % lanes;                // wave_rol:1
    case 0x138: return lane - 1;                          // wave_shr:1
    case 0x13c: return (lane + lanes - 1) % lanes;        // wave_ror:1
    case 0x140: return row | (15 - column);               // row_mirror
    case 0x141: return (lane & ~7) | (7 - (lane & 7));    // row_half_mirror
    case 0x142: return row - 1;                           // row_bcast:15
    case 0x143: return lane >= 32 ? 31 : -1;              // row_bcast:31
    default: return -1;
  }
}

// The same for all lanes and all controls of DPP16. Controls whose effect depends on the wave's
// size exist only on gfx9, where it is 64.
constexpr int kDppControls = 0x200;
struct DppTable {
  DppLanes control[kDppControls];
};
constexpr DppTable kDppTable = [] {
  DppTable table{};
  for (int control = 0; control < kDppControls; ++control) {
    for (int lane = 0; lane < kMaxLanes; ++lane) {
      const int from = dpp16_source_lane(control, lane, kMaxLanes);
      table.control[control].from[lane] = static_cast<int8_t>(from < 0 ? 0 : from);
      table.control[control].exists |= uint64_t{from >= 0} << lane;
    }
  }
  return table;
}();

uint32_t reverse5(uint32_t value) {
  return (value & 1) << 4 | (value & 2) << 2 | (value & 4) | (value & 8) >> 2 | (value & 16) >> 4;
}

}  // namespace

const DppLanes& dpp16_lanes(uint16_t control) { return kDppTable.control[control % kDppControls]; }

DppLanes dpp8_lanes(uint32_t selectors) {
  DppLanes lanes{{}, ~uint64_t{0}};
  for (uint32_t lane = 0; lane < uint32_t{kMaxLanes}; ++lane)
    lanes.from[lane] = static_cast<int8_t>((lane & ~7u) | (selectors >> 3 * (lane & 7) & 7));
  return lanes;
}

uint64_t dpp_write_mask(const Inst& inst) {
  uint64_t banks = 0, rows = 0;
  for (int i = 0; i < 4; ++i) {
    banks |= (inst.bank_mask >> i & 1) != 0 ? uint64_t{0x000f000f000f000f} << 4 * i : 0;
    rows |= (inst.row_mask >> i & 1) != 0 ? uint64_t{0xffff} << 16 * i : 0;
  }
  return banks & rows;
}

bool index_registers(const Wave& wave, Inst& inst) {
  const uint32_t offset = wave.s[isa::slot::kM0] & 0xff;
  const auto in_range = [&](const Operand& operand) {
    return uint32_t{operand.index} + std::max<uint32_t>(operand.dwords, 1) <= wave.vgpr_count;
  };
  for (int k = 0; k < 3; ++k) {
    Operand& operand = inst.src[k];
    if ((wave.vgpr_index >> k & 1) == 0 || operand.kind != OperandKind::kVgpr) continue;
    operand.index = static_cast<uint16_t>(operand.index + offset);
    if (!in_range(operand)) operand.index = 0;
  }
  if ((wave.vgpr_index & 8) != 0 && inst.dst.kind == OperandKind::kVgpr) {
    inst.dst.index = static_cast<uint16_t>(inst.dst.index + offset);
    return in_range(inst.dst);
  }
  return true;
}

uint32_t swizzle_source(uint32_t lane, uint32_t offset) {
  const uint32_t mask = offset & 0x1f;
  if (offset >= 0xe000) {  // FFT: bit reversal of the bits above `mask`
    const uint32_t shift = static_cast<uint32_t>(std::popcount(mask));
    return reverse5(lane) >> shift | (lane & mask);
  }
  if (offset >= 0xc000) {  // rotate within groups
    const uint32_t rotate = offset >> 5 & 0x1f;
    const uint32_t moved = (offset & 0x400) != 0 ? lane - rotate : lane + rotate;
    return ((lane & mask) | (moved & ~mask)) & 0x1f;
  }
  // Any order within quads.
  if (offset >= 0x8000) return (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
  return ((lane & mask) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f);  // and, or, xor
}

}  // namespace wavetap::emu
