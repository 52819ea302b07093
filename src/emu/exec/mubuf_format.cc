// buffer_load_format_*, buffer_store_format_* and their tbuffer forms: buffer accesses that convert
// between a data format in memory and 32-bit (or, d16, 16-bit) values in registers.
//
// buffer_ takes the format from the resource, tbuffer_ from the instruction. A load routes
// components through the resource's destination selects: 0, 1, or component x, y, z, w; components
// the format lacks read as 0, w as 1. A store writes the components it is given; those it lacks are
// written as zero. d16 values are packed two to a register. A lane outside the buffer reads zeros
// and writes nothing.
#include "emu/exec/buffer_format.h"
#include "emu/exec/buffer_lanes.h"
#include "emu/exec/format_bits.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;

// kClears: with SRAM ECC a register is written whole, the half that gets no component becomes zero.
enum class Width : uint8_t { k32, kD16, kD16High, kD16Clears, kD16HighClears };

constexpr bool is_high(Width width) {
  return width == Width::kD16High || width == Width::kD16HighClears;
}
constexpr bool clears(Width width) {
  return width == Width::kD16Clears || width == Width::kD16HighClears;
}
// A store has nothing to clear.
constexpr Width stored(Width width) {
  if (width == Width::kD16Clears) return Width::kD16;
  return width == Width::kD16HighClears ? Width::kD16High : width;
}

template <bool kTyped>
BufferFormat format_of(const Wave& wave, const Inst& inst, const BufferResource& buffer) {
  const amd::GfxTarget target = wave.dispatch->target;
  if (kTyped) return buffer_format(inst.format, target);
  if (target.major == 9)
    return buffer_format((buffer.word3 >> 15 & 15) | (buffer.word3 >> 12 & 7) << 4, target);
  return buffer_format(buffer.word3 >> 12 & (target.major == 10 ? 0x7f : 0x3f), target);
}

// Component i of a lane's registers.
template <Width kWidth, int L>
void put_value(uint32_t* row, int i, uint32_t value) {
  if constexpr (kWidth == Width::k32) {
    row[i * L] = value;
  } else {
    uint32_t& word = row[i / 2 * L];
    if (clears(kWidth) && i % 2 == 0) word = 0;
    const bool high = i % 2 == 1 || is_high(kWidth);
    word = high ? (word & 0xffffu) | value << 16 : (word & 0xffff0000u) | value;
  }
}

template <Width kWidth, int L>
uint32_t get_value(const uint32_t* row, int i) {
  if constexpr (kWidth == Width::k32) return row[i * L];
  const bool high = i % 2 == 1 || is_high(kWidth);
  return high ? row[i / 2 * L] >> 16 : row[i / 2 * L] & 0xffff;
}

template <bool kTyped, int kCount, Width kWidth, int L>
void load_rows(Wave& wave, const Inst& inst, uint32_t* rows) {
  const BufferLanes<L> lanes = read_buffer_lanes<L>(wave, inst);
  const BufferFormat format = format_of<kTyped>(wave, inst, lanes.buffer);
  if (wave.notes_accesses)
    note_buffer<L>(wave, inst, Access::kLoad, lanes, {.size_bytes = format.size_bytes()},
                   Bounds::kWhole);
  const uint32_t one = format.is_integer() ? 1 : bits_of(1.0f);
  for (uint64_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const bool outside = format.components == 0 || lanes.excludes(lane, 0, format.size_bytes());
    std::byte element[kElementBytes] = {};
    if (!outside && !move_element<L>(wave, lanes, lane, element, format.size_bytes(), false))
      return;
    uint32_t component[4] = {0, 0, 0, one};
    for (uint32_t i = 0, at = 0; i < format.components; at += format.bits[i++])
      component[i] =
          widen_component(extract_bits(element, at, format.bits[i]), format.bits[i], format.number);
    for (int i = 0; i < kCount; ++i) {
      uint32_t value =
          outside ? 0 : select_component(lanes.buffer.word3 >> 3 * i & 7, component, one);
      if (kWidth != Width::k32) value = to_d16(value, format.is_integer());
      put_value<kWidth, L>(rows + lane, i, value);
    }
  }
}

template <bool kTyped, int kCount, Width kWidth, int L>
void load(Wave& wave, const Inst& inst) {
  load_rows<kTyped, kCount, kWidth, L>(wave, inst, data_rows(wave, inst.dst));
}

// LDS[M0 + offset + 4 * lane] = component x
template <int L>
void load_to_lds(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  load_rows<false, 1, Width::k32, L>(wave, inst, row);
  if (wave.state != WaveState::kFaulted) store_dma_row<L>(wave, inst, wave.exec(), row);
}

template <bool kTyped, int kCount, Width kWidth, int L>
void store(Wave& wave, const Inst& inst) {
  const BufferLanes<L> lanes = read_buffer_lanes<L>(wave, inst);
  const BufferFormat format = format_of<kTyped>(wave, inst, lanes.buffer);
  if (wave.notes_accesses)
    note_buffer<L>(wave, inst, Access::kStore, lanes, {.size_bytes = format.size_bytes()},
                   Bounds::kWhole);
  const uint32_t* rows = data_rows(wave, inst.src[0]);
  for (uint64_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (format.components == 0 || lanes.excludes(lane, 0, format.size_bytes())) continue;
    std::byte element[kElementBytes] = {};
    for (uint32_t i = 0, at = 0; i < format.components; at += format.bits[i++]) {
      if (static_cast<int>(i) >= kCount) break;
      uint32_t value = get_value<kWidth, L>(rows + lane, static_cast<int>(i));
      if (kWidth != Width::k32) value = from_d16(value, format);
      insert_bits(element, at, narrow_component(value, format.bits[i], format.number));
    }
    if (!move_element<L>(wave, lanes, lane, element, format.size_bytes(), true)) return;
  }
}

// --- Finding.

// clang-format off
#define WT_FORMAT(name, kCount, kWidth)                                      \
  case Op::buffer_load_format_##name: return load<false, kCount, kWidth, L>; \
  case Op::buffer_store_format_##name: return store<false, kCount, stored(kWidth), L>;
#define WT_TYPED(name, kCount, kWidth)                                       \
  case Op::tbuffer_load_format_##name: return load<true, kCount, kWidth, L>; \
  case Op::tbuffer_store_format_##name: return store<true, kCount, stored(kWidth), L>;
#define WT_BOTH(name, kCount, kWidth) WT_FORMAT(name, kCount, kWidth) WT_TYPED(name, kCount, kWidth)
// clang-format on

template <int L>
Handler find_whole(Op op) {
  switch (op) {
    WT_BOTH(x, 1, Width::k32)
    WT_BOTH(xy, 2, Width::k32)
    WT_BOTH(xyz, 3, Width::k32)
    WT_BOTH(xyzw, 4, Width::k32)
    default: return nullptr;
  }
}

template <Width kLow, Width kHigh, int L>
Handler find_d16(Op op) {
  switch (op) {
    WT_BOTH(d16_x, 1, kLow)
    WT_BOTH(d16_xy, 2, kLow)
    WT_BOTH(d16_xyz, 3, kLow)
    WT_BOTH(d16_xyzw, 4, kLow)
    WT_FORMAT(d16_hi_x, 1, kHigh)
    default: return nullptr;
  }
}

template <int L>
Handler find_in(const Inst& inst, bool sram_ecc) {
  if (inst.lds) return inst.op == Op::buffer_load_format_x ? load_to_lds<L> : nullptr;
  if (const Handler handler = find_whole<L>(inst.op)) return handler;
  return sram_ecc ? find_d16<Width::kD16Clears, Width::kD16HighClears, L>(inst.op)
                  : find_d16<Width::kD16, Width::kD16High, L>(inst.op);
}

}  // namespace

Handler find_buffer_format(const Inst& inst, Shape shape) {
  return shape.wave64 ? find_in<64>(inst, shape.sram_ecc) : find_in<32>(inst, shape.sram_ecc);
}

}  // namespace wavetap::emu
