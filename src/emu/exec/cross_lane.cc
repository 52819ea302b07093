// Instructions that move values between lanes, or between lanes and scalars: readlane and
// writelane, permlane, the DS crossbar exchanges, and the moves to and from accumulation registers.
//
// All read their whole source row before they write, so source and destination may be one register.
// DPP is a modifier of vector ALU instructions and lives with them.
#include <algorithm>
#include <array>

#include "emu/exec.h"
#include "emu/exec/mem_access.h"
#include "emu/exec/operand_lanes.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

// --- Lanes and scalars. Lane numbers wrap at the wave size.

bool is_row(const isa::Operand& operand) {
  return operand.is(OperandKind::kVgpr) || operand.is(OperandKind::kAgpr);
}

// SDST = VSRC[lowest active lane, or lane 0 when none is]
void v_readfirstlane_b32(Wave& wave, const Inst& inst) {
  const isa::Operand& from = inst.src[0];
  const uint64_t mask = wave.exec();
  const int lane = mask == 0 ? 0 : std::countr_zero(mask);
  wave.write_s32(inst.dst, is_row(from) ? data_rows(wave, from)[lane] : wave.read_s32(from));
}

// SDST = VSRC[SSRC1 mod wave size], whatever EXEC says
void v_readlane_b32(Wave& wave, const Inst& inst) {
  const isa::Operand& from = inst.src[0];
  const uint32_t lane = wave.read_s32(inst.src[1]) & (wave.lanes - 1u);
  wave.write_s32(inst.dst, is_row(from) ? data_rows(wave, from)[lane] : wave.read_s32(from));
}

// VDST[SSRC1 mod wave size] = SSRC0, whatever EXEC says
void v_writelane_b32(Wave& wave, const Inst& inst) {
  const uint32_t lane = wave.read_s32(inst.src[1]) & (wave.lanes - 1u);
  data_rows(wave, inst.dst)[lane] = wave.read_s32(inst.src[0]);
}

// --- Permutations.

template <int L>
using Row = std::array<uint32_t, L>;

// A source operand of a permutation as a row: a scalar is the same in every lane.
template <int L>
Row<L> read_row(Wave& wave, const isa::Operand& operand) {
  Row<L> row;
  if (is_row(operand)) std::copy_n(data_rows(wave, operand), L, row.begin());
  else row.fill(wave.read_s32(operand));
  return row;
}

template <int L>
void write_row(Wave& wave, const isa::Operand& operand, const Row<L>& row) {
  blend_row<L>(data_rows(wave, operand), row.data(), wave.exec());
}

// vdst[i] = src0[row of i, or its neighbour (x16); lane lanesel[4 * (i % 16) +: 4] of that row]
// where lanesel = {src2, src1}. A disabled source lane gives 0 with bound_ctrl, else nothing is
// written, unless fetch_inactive reads it all the same.
template <bool kOtherRow, int L>
void permlane16(Wave& wave, const Inst& inst) {
  const Row<L> from = read_row<L>(wave, inst.src[0]);
  const uint64_t select = wave.read_s32(inst.src[1]) | uint64_t{wave.read_s32(inst.src[2])} << 32;
  const uint64_t mask = wave.exec();
  uint32_t* to = data_rows(wave, inst.dst);
  for_each_lane(mask, [&](int lane) {
    const int row = (kOtherRow ? lane ^ 16 : lane) & ~15;
    const int source = row + static_cast<int>(select >> 4 * (lane % 16) & 15);
    if (inst.fetch_inactive || (mask >> source & 1) != 0) to[lane] = from[source];
    else if (inst.bound_ctrl) to[lane] = 0;
  });
}

// vdst[i] = src0[i ^ 32], also from disabled lanes; a plain move in wave32
template <int L>
void v_permlane64_b32(Wave& wave, const Inst& inst) {
  const Row<L> from = read_row<L>(wave, inst.src[0]);
  Row<L> to;
  for (int lane = 0; lane < L; ++lane) to[lane] = from[L == 64 ? lane ^ 32 : lane];
  write_row<L>(wave, inst.dst, to);
}

// --- The DS crossbar. A disabled source lane counts as zero. From gfx10 on it is 32 lanes wide:
// --- the halves of a wave64 do not see each other.

template <int kGroup, int L>
int exchange_lane(int lane, uint32_t byte_address) {
  return (lane & ~(kGroup - 1)) + static_cast<int>(byte_address / 4 % kGroup);
}

// vdst[i] = data0[(vaddr[i] + offset) / 4]
template <int kGroup, int L>
void ds_bpermute_b32(Wave& wave, const Inst& inst) {
  Row<L> from = read_row<L>(wave, inst.src[0]);
  const uint32_t* address = wave.vrow(inst.vaddr.index);
  if (wave.exec() != wave.full_exec())
    for (int lane = 0; lane < L; ++lane)
      if ((wave.exec() >> lane & 1) == 0) from[lane] = 0;
  // Lanes that are off are computed as well: that costs less than to find the others.
  Row<L> to;
  for (int lane = 0; lane < L; ++lane)
    to[lane] =
        from[exchange_lane<kGroup, L>(lane, address[lane] + static_cast<uint32_t>(inst.offset))];
  write_row<L>(wave, inst.dst, to);
}

// vdst[(vaddr[i] + offset) / 4] = data0[i]; the highest lane wins, lanes nobody sends to get zero
template <int kGroup, int L>
void ds_permute_b32(Wave& wave, const Inst& inst) {
  const Row<L> from = read_row<L>(wave, inst.src[0]);
  const uint32_t* address = wave.vrow(inst.vaddr.index);
  Row<L> to{};
  for_each_lane(wave.exec(), [&](int lane) {
    to[exchange_lane<kGroup, L>(lane, address[lane] + static_cast<uint32_t>(inst.offset))] =
        from[lane];
  });
  write_row<L>(wave, inst.dst, to);
}

template <int L>
void ds_swizzle_b32(Wave& wave, const Inst& inst) {
  const Row<L> from =
      read_row<L>(wave, inst.vaddr.is(OperandKind::kNone) ? inst.src[0] : inst.vaddr);
  const uint64_t mask = wave.exec();
  Row<L> to{};
  for_each_lane(mask, [&](int lane) {
    const int source =
        (lane & 32) | static_cast<int>(swizzle_source(static_cast<uint32_t>(lane) & 31,
                                                      static_cast<uint32_t>(inst.offset) & 0xffff));
    to[lane] = (mask >> source & 1) != 0 ? from[source] : 0;
  });
  write_row<L>(wave, inst.dst, to);
}

// --- Accumulation registers.

// vdst = src0 for each active lane, either side an accumulation register
template <int L>
void move_row(Wave& wave, const Inst& inst) {
  write_row<L>(wave, inst.dst, read_row<L>(wave, inst.src[0]));
}

template <int kGroup, int L>
Handler find_in(const Inst& inst) {
  switch (inst.op) {
    case Op::v_readfirstlane_b32: return v_readfirstlane_b32;
    case Op::v_readlane_b32: return v_readlane_b32;
    case Op::v_writelane_b32: return v_writelane_b32;
    case Op::v_permlane16_b32: return permlane16<false, L>;
    case Op::v_permlanex16_b32: return permlane16<true, L>;
    case Op::v_permlane64_b32: return v_permlane64_b32<L>;
    case Op::ds_bpermute_b32: return ds_bpermute_b32<kGroup, L>;
    case Op::ds_permute_b32: return ds_permute_b32<kGroup, L>;
    case Op::ds_swizzle_b32: return ds_swizzle_b32<L>;
    case Op::v_accvgpr_read_b32:
    case Op::v_accvgpr_write_b32:
    case Op::v_accvgpr_mov_b32: return move_row<L>;
    default: return nullptr;
  }
}

}  // namespace

Handler find_cross_lane(const Inst& inst, Shape shape) {
  if (!shape.wave64) return find_in<32, 32>(inst);
  return shape.target.major >= 10 ? find_in<32, 64>(inst) : find_in<64, 64>(inst);
}

}  // namespace wavetap::emu
