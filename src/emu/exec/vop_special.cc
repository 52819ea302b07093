// Vector operations that do not fit the row scheme: register indexing by M0, swaps, a 128-bit
// result, and operations without an effect.
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

void no_effect(Wave&, const Inst&) {}

// A VGPR chosen at run time. Outside of the wave's registers a source reads v0 and a destination is
// dropped: null.
const uint32_t* indexed_source(Wave& wave, uint32_t reg) {
  return wave.vrow(reg < wave.vgpr_count ? reg : 0);
}
uint32_t* indexed_destination(Wave& wave, uint32_t reg) {
  return reg < wave.vgpr_count ? wave.vrow(reg) : nullptr;
}

void move_row(Wave& wave, uint32_t* to, const uint32_t* from) {
  if (to == nullptr) return;
  Row copy;
  copy_row(copy.lane, from, wave.lanes);
  blend_row(to, copy.lane, wave.lanes, wave.exec());
}

// VGPR[dst + M0] = src.
void v_movreld_b32(Wave& wave, const Inst& inst) {
  Row scratch[2];
  const Source source = fetch<false>(wave, inst.src[0], scratch);
  move_row(wave, indexed_destination(wave, inst.dst.index + wave.s[isa::slot::kM0]), source.lo);
}
// dst = VGPR[src + M0].
void v_movrels_b32(Wave& wave, const Inst& inst) {
  move_row(wave, wave.vrow(inst.dst.index),
           indexed_source(wave, inst.src[0].index + wave.s[isa::slot::kM0]));
}
// VGPR[dst + M0] = VGPR[src + M0].
void v_movrelsd_b32(Wave& wave, const Inst& inst) {
  const uint32_t offset = wave.s[isa::slot::kM0];
  move_row(wave, indexed_destination(wave, inst.dst.index + offset),
           indexed_source(wave, inst.src[0].index + offset));
}
// Two offsets: M0[9:0] for the source, M0[25:16] for the destination.
uint32_t source_offset(const Wave& wave) { return wave.s[isa::slot::kM0] & 0x3ff; }
uint32_t destination_offset(const Wave& wave) { return wave.s[isa::slot::kM0] >> 16 & 0x3ff; }
void v_movrelsd_2_b32(Wave& wave, const Inst& inst) {
  move_row(wave, indexed_destination(wave, inst.dst.index + destination_offset(wave)),
           indexed_source(wave, inst.src[0].index + source_offset(wave)));
}

void swap_rows(Wave& wave, uint32_t first, uint32_t second) {
  if (first >= wave.vgpr_count || second >= wave.vgpr_count) return;
  Row old[2];
  copy_row(old[0].lane, wave.vrow(first), wave.lanes);
  copy_row(old[1].lane, wave.vrow(second), wave.lanes);
  blend_row(wave.vrow(first), old[1].lane, wave.lanes, wave.exec());
  blend_row(wave.vrow(second), old[0].lane, wave.lanes, wave.exec());
}
// v_swap_b16: a half of each register, which may be the same one.
void swap_halves(Wave& wave, const Operand& first, const Operand& second) {
  const int first_shift = first.sel == isa::Sel::kWord1 ? 16 : 0;
  const int second_shift = second.sel == isa::Sel::kWord1 ? 16 : 0;
  uint32_t* const a = wave.vrow(first.index);
  uint32_t* const b = wave.vrow(second.index);
  const uint64_t exec = wave.exec();
  for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
    if ((exec >> lane & 1) == 0) continue;
    const uint32_t from_a = a[lane] >> first_shift & 0xffff;
    const uint32_t from_b = b[lane] >> second_shift & 0xffff;
    a[lane] = (a[lane] & ~(0xffffu << first_shift)) | from_b << first_shift;
    b[lane] = (b[lane] & ~(0xffffu << second_shift)) | from_a << second_shift;
  }
}
void v_swap_b32(Wave& wave, const Inst& inst) {
  if (inst.dst.sel != isa::Sel::kDword) return swap_halves(wave, inst.dst, inst.dst2);
  swap_rows(wave, inst.dst.index, inst.dst2.index);
}
void v_swaprel_b32(Wave& wave, const Inst& inst) {
  swap_rows(wave, inst.dst.index + destination_offset(wave), inst.dst2.index + source_offset(wave));
}

// Four masked sums of absolute differences, the window sliding by a byte, each added to a dword of
// src2. With clamp the sums saturate.
void v_mqsad_u32_u8(Wave& wave, const Inst& inst) {
  Row scratch[3][2];
  const Source window = fetch<true>(wave, inst.src[0], scratch[0]);
  const Source reference = fetch<false>(wave, inst.src[1], scratch[1]);
  Row sums[4];
  for (uint32_t part = 0; part < 4; ++part) {
    const Operand& accumulator = inst.src[2];
    Operand dword = accumulator;
    dword.index = static_cast<uint16_t>(accumulator.index + part);
    // A constant is the low dword of the accumulator.
    if (accumulator.kind == OperandKind::kImm)
      dword.imm = part < 2 ? accumulator.imm >> 32 * part : 0;
    const Source old = fetch<false>(wave, dword, scratch[2]);
    for (uint32_t i = 0; i < wave.lanes; ++i) {
      const uint64_t bytes = window.lo[i] | uint64_t{window.hi[i]} << 32;
      uint64_t sum = old.lo[i];
      for (uint32_t at = 0; at < 4; ++at) {
        const int32_t a = static_cast<int32_t>(bytes >> 8 * (at + part) & 0xff);
        const int32_t b = static_cast<int32_t>(reference.lo[i] >> 8 * at & 0xff);
        if (b != 0) sum += static_cast<uint32_t>(a > b ? a - b : b - a);
      }
      sums[part].lane[i] =
          inst.clamp && sum > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(sum);
    }
  }
  for (uint32_t part = 0; part < 4; ++part)
    blend_row(wave.vrow(inst.dst.index + part), sums[part].lane, wave.lanes, wave.exec());
}

// Of these there is one form: DPP and SDWA, which gfx10 and later could encode, have no semantics.
constexpr VopRow only(Handler handler) {
  VopRow row;
  row.plain = row.saturating = handler;
  return row;
}

// The same handler for whole registers and for halves.
constexpr VopRow also_halves(Handler handler) {
  VopRow row = only(handler);
  row.generic = handler;
  return row;
}

constexpr auto kTable = vop_table({
    {Op::v_nop, only(no_effect)},
    {Op::v_pipeflush, only(no_effect)},
    {Op::v_clrexcp, only(no_effect)},
    {Op::v_movreld_b32, only(v_movreld_b32)},
    {Op::v_movrels_b32, only(v_movrels_b32)},
    {Op::v_movrelsd_b32, only(v_movrelsd_b32)},
    {Op::v_movrelsd_2_b32, only(v_movrelsd_2_b32)},
    {Op::v_swap_b32, also_halves(v_swap_b32)},
    {Op::v_swaprel_b32, only(v_swaprel_b32)},
    {Op::v_mqsad_u32_u8, only(v_mqsad_u32_u8)},
});

}  // namespace

const VopRow* find_special_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
