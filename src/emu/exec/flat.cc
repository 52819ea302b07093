// flat_*, global_* and scratch_* instructions.
//
// Addresses (all sums wrap at their width):
//   global   saddr given: saddr(64) + vaddr(32, unsigned) + offset; else vaddr(64) + offset
//   flat     vaddr(64) + offset; an address inside the 4 GiB at 1 << 48 is LDS, inside those at 2 << 48
//            private memory, anything else global, lane by lane
//   scratch  saddr(32) + vaddr(32) + offset, a byte of the lane's scratch. FLAT_SCRATCH is not consulted:
//            every wave has its own scratch (wave.h)
//
// LDS-DMA forms (gfx90a: global_load_dword … lds, gfx940: global_load_lds_*) put what they load at
// M0[15:0] + offset + 4 * lane of LDS; sub-dword values are extended to a dword.
//
// Alignment: loads and stores may have any; atomics need their natural one (kMisaligned).
// References: MI200 ISA guide, "Flat memory instructions"; RDNA 2 ISA guide, the same; LLVM
// AMDGPUUsage, "Memory model" and "Address spaces".
#include "emu/exec.h"
#include "emu/exec/atomic_lanes.h"
#include "emu/exec/atomics.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

enum class Segment : uint8_t { kFlat, kGlobal };

template <int L>
void lane_addresses(Wave& wave, const Inst& inst, uint64_t* at) {
  const uint64_t offset = static_cast<uint64_t>(int64_t{inst.offset});
  if (inst.saddr.is(OperandKind::kNone)) {
    const uint32_t* low = wave.vrow(inst.vaddr.index);
    const uint32_t* high = low + L;
    for (int lane = 0; lane < L; ++lane)
      at[lane] = (low[lane] | uint64_t{high[lane]} << 32) + offset;
    return;
  }
  const uint64_t base = wave.read_s64(inst.saddr) + offset;
  if (inst.vaddr.is(OperandKind::kNone)) {
    std::fill(at, at + L, base);
  } else {
    const uint32_t* low = wave.vrow(inst.vaddr.index);
    for (int lane = 0; lane < L; ++lane) at[lane] = base + low[lane];
  }
}

template <int L>
AddressRows address_rows(Wave& wave, const Inst& inst) {
  AddressRows rows;
  rows.base = static_cast<uint64_t>(int64_t{inst.offset});
  if (!inst.vaddr.is(OperandKind::kNone)) rows.low = wave.vrow(inst.vaddr.index);
  if (inst.saddr.is(OperandKind::kNone)) rows.high = rows.low == nullptr ? nullptr : rows.low + L;
  else rows.base += wave.read_s64(inst.saddr);
  return rows;
}

template <int L>
bool reaches_aperture(const uint64_t* at, uint64_t mask) {
  uint64_t bits = 0;
  if (mask == all_lanes<L>()) {
    for (int lane = 0; lane < L; ++lane) bits |= at[lane];
  } else {
    for_each_lane(mask, [&](int lane) { bits |= at[lane]; });
  }
  return bits >> 48 != 0;
}

// Sorts the lanes; `offset` gets the LDS or private address of those that have one. Everything in
// neither aperture is left to translate(), which knows what is mapped.
FlatLanes split_lanes(const uint64_t* at, uint64_t mask, uint32_t* offset) {
  FlatLanes lanes;
  for_each_lane(mask, [&](int lane) {
    const uint64_t bit = uint64_t{1} << lane;
    offset[lane] = static_cast<uint32_t>(at[lane]);
    if (at[lane] >> 32 == kSharedAperture >> 32) lanes.lds |= bit;
    else if (at[lane] >> 32 == kPrivateAperture >> 32) lanes.scratch |= bit;
    else lanes.global |= bit;
  });
  return lanes;
}

// A DS instruction ignores an LDS address past the end; a flat one is a memory violation.
bool check_flat_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t size_bytes,
                    bool write) {
  for (; mask != 0; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    if (in_lds(wave, at[lane], size_bytes)) continue;
    wave.raise(FaultKind::kApertureViolation, GpuAddr{kSharedAperture + at[lane]}, write, lane,
               "past the workgroup's LDS");
    return false;
  }
  return true;
}

// vdst = MEM[address]
template <Segment kSegment, class T, int L>
void load(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  uint32_t* rows = data_rows(wave, inst.dst);
  const AddressRows quick = address_rows<L>(wave, inst);
  if (!wave.notes_accesses) {
    if (load_quickly<T, L>(wave, quick, mask, rows)) return;
  } else if (mask == all_lanes<L>() && quick.low != nullptr) {
    const Pattern<uint64_t, L> pattern = pattern_of_rows<T::kBytes, L>(quick);
    std::byte* from[L / kGroupLanes];
    if (pattern.relation != Relation::kNone &&
        cached_groups<T::kBytes, L>(wave, pattern, false, from)) {
      note_global_groups(wave, inst, Access::kLoad, pattern.relation, pattern.first,
                         element_of<T>(inst.dst));
      return load_groups<T, L>(pattern, from, rows);
    }
  }
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  if (kSegment == Segment::kFlat && reaches_aperture<L>(at, mask)) {
    uint32_t offset[L];
    const FlatLanes lanes = split_lanes(at, mask, offset);
    if (wave.notes_accesses)
      note_flat(wave, inst, Access::kLoad, at, offset, lanes, element_of<T>(inst.dst));
    if (!check_flat_lds(wave, offset, lanes.lds, T::kBytes, false)) return;
    load_lds<T, L>(wave, offset, lanes.lds, rows);
    load_scratch<T, L>(wave, offset, lanes.scratch, rows);
    load_global<T, L>(wave, at, lanes.global, rows);
    return;
  }
  const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at, mask);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kLoad, at, mask, element_of<T>(inst.dst), pattern.relation);
  load_global<T, L>(wave, at, mask, pattern, rows);
}

// MEM[address] = vdata
template <Segment kSegment, class T, int L>
void store(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  const uint32_t* rows = data_rows(wave, inst.src[0]);
  const AddressRows quick = address_rows<L>(wave, inst);
  if (!wave.notes_accesses) {
    if (store_quickly<T, L>(wave, quick, mask, rows)) return;
  } else if (mask == all_lanes<L>() && quick.low != nullptr) {
    const Pattern<uint64_t, L> pattern = pattern_of_rows<T::kBytes, L>(quick);
    std::byte* to[L / kGroupLanes];
    if (pattern.relation == Relation::kConsecutive &&
        cached_groups<T::kBytes, L>(wave, pattern, true, to)) {
      note_global_groups(wave, inst, Access::kStore, pattern.relation, pattern.first,
                         element_of<T>(inst.src[0]));
      publish_earlier();
      return store_groups<T, L>(pattern, to, rows);
    }
  }
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  if (kSegment == Segment::kFlat && reaches_aperture<L>(at, mask)) {
    uint32_t offset[L];
    const FlatLanes lanes = split_lanes(at, mask, offset);
    if (wave.notes_accesses)
      note_flat(wave, inst, Access::kStore, at, offset, lanes, element_of<T>(inst.src[0]));
    if (!check_flat_lds(wave, offset, lanes.lds, T::kBytes, true)) return;
    store_lds<T, L>(wave, offset, lanes.lds, rows);
    store_scratch<T, L>(wave, offset, lanes.scratch, rows);
    store_global<T, L>(wave, at, lanes.global, rows);
    return;
  }
  const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at, mask);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kStore, at, mask, element_of<T>(inst.src[0]), pattern.relation);
  store_global<T, L>(wave, at, mask, pattern, rows);
}

// tmp = MEM[address]; MEM[address] = next(tmp, vdata); vdst = tmp (when the instruction returns it)
template <Segment kSegment, class A, int L>
void atomic_op(Wave& wave, const Inst& inst) {
  using U = typename A::Value;
  const uint64_t mask = wave.exec();
  const uint32_t* data = data_rows(wave, inst.src[0]);
  uint32_t* result = inst.dst.is(OperandKind::kNone) ? nullptr : data_rows(wave, inst.dst);

  if (!wave.notes_accesses &&
      update_quickly<A, L>(wave, address_rows<L>(wave, inst), mask, data, result))
    return;
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  uint32_t offset[L] = {};
  FlatLanes lanes;
  lanes.global = mask;
  if (kSegment == Segment::kFlat && reaches_aperture<L>(at, mask))
    lanes = split_lanes(at, mask, offset);
  if (wave.notes_accesses)
    note_flat(wave, inst, atomic_access(inst.dst), at, offset, lanes,
              atomic_element<U>(inst.dst, inst.src[0]));

  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t bit = uint64_t{1} << lane;
    if (at[lane] % sizeof(U) != 0) {
      wave.raise(FaultKind::kMisaligned, GpuAddr{at[lane]}, true, lane, "atomic operation");
      return;
    }
    const U operand = atomic::read_operand<U>(data + lane, L);
    const U operand2 =
        atomic::kOperands<A> == 2 ? atomic::read_operand<U>(data + sizeof(U) / 4 * L + lane, L) : 0;
    U old;
    if ((lanes.global & bit) != 0) {
      std::byte* host = wave.translate(at[lane], sizeof(U), true, lane);
      if (host == nullptr) return;
      old = atomic::update_shared<A>(host, operand, operand2);
    } else if ((lanes.lds & bit) != 0) {
      if (!check_flat_lds(wave, offset, bit, sizeof(U), true)) return;
      old = atomic::update_private<A>(wave.lds + offset[lane], operand, operand2);
    } else {
      if (!check_scratch(wave, offset[lane], sizeof(U), true, lane)) return;
      std::byte element[sizeof(U)] = {};
      copy_scratch(wave, offset[lane], element, sizeof(U), false, lane);
      old = atomic::update_private<A>(element, operand, operand2);
      copy_scratch(wave, offset[lane], element, sizeof(U), true, lane);
    }
    if (result != nullptr) atomic::write_result<U>(result + lane, L, old);
  }
}

// --- Scratch.

struct ScratchAddress {
  uint32_t base = 0;               // what all lanes share
  const uint32_t* lane = nullptr;  // what each adds, or null
};

ScratchAddress scratch_address(Wave& wave, const Inst& inst) {
  ScratchAddress address;
  address.base = static_cast<uint32_t>(inst.offset);
  if (!inst.saddr.is(OperandKind::kNone)) address.base += wave.read_s32(inst.saddr);
  if (!inst.vaddr.is(OperandKind::kNone)) address.lane = wave.vrow(inst.vaddr.index);
  return address;
}

template <int L>
void lane_offsets(const ScratchAddress& address, uint32_t* at) {
  for (int lane = 0; lane < L; ++lane)
    at[lane] = address.base + (address.lane != nullptr ? address.lane[lane] : 0);
}

template <int L>
void note_scratch_lanes(Wave& wave, const Inst& inst, Access access, const ScratchAddress& address,
                        const Element& element) {
  uint32_t at[L];
  lane_offsets<L>(address, at);
  note_scratch(wave, inst, access, at, wave.exec(), element);
}

template <class T, int L>
void scratch_load(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  const ScratchAddress address = scratch_address(wave, inst);
  uint32_t* rows = data_rows(wave, inst.dst);
  if (wave.notes_accesses)
    note_scratch_lanes<L>(wave, inst, Access::kLoad, address, element_of<T>(inst.dst));
  if (address.lane == nullptr && is_scratch_row<T>(wave, address.base)) {
    const auto* from = reinterpret_cast<const uint32_t*>(wave.scratch + size_t{address.base} * L);
    for (int i = 0; i < T::kRows; ++i) blend_row<L>(rows + i * L, from + i * L, mask);
    return;
  }
  uint32_t at[L];
  lane_offsets<L>(address, at);
  load_scratch<T, L>(wave, at, mask, rows);
}

template <class T, int L>
void scratch_store(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  const ScratchAddress address = scratch_address(wave, inst);
  const uint32_t* rows = data_rows(wave, inst.src[0]);
  if (wave.notes_accesses)
    note_scratch_lanes<L>(wave, inst, Access::kStore, address, element_of<T>(inst.src[0]));
  if (address.lane == nullptr && is_scratch_row<T>(wave, address.base)) {
    auto* to = reinterpret_cast<uint32_t*>(wave.scratch + size_t{address.base} * L);
    for (int i = 0; i < T::kRows; ++i) blend_row<L>(to + i * L, rows + i * L, mask);
    return;
  }
  uint32_t at[L];
  lane_offsets<L>(address, at);
  store_scratch<T, L>(wave, at, mask, rows);
}

// --- LDS-DMA.

// LDS[M0 + offset + 4 * lane] = MEM[address], extended to 32 bits; no register is written.
template <class T, int L>
void load_to_lds(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  uint32_t row[L];
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kLoad, at, mask, {.size_bytes = T::kBytes});
  load_global<T, L>(wave, at, mask, row);
  if (wave.state == WaveState::kFaulted) return;
  store_dma_row<L>(wave, inst, mask, row);
}

template <class T, int L>
void scratch_load_to_lds(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  uint32_t at[L];
  lane_offsets<L>(scratch_address(wave, inst), at);
  uint32_t row[L];
  if (wave.notes_accesses)
    note_scratch(wave, inst, Access::kLoad, at, mask, {.size_bytes = T::kBytes});
  load_scratch<T, L>(wave, at, mask, row);
  if (wave.state == WaveState::kFaulted) return;
  store_dma_row<L>(wave, inst, mask, row);
}

// --- addtid: saddr + offset + 4 * lane, a row of memory.

template <int L>
void addtid_addresses(Wave& wave, const Inst& inst, uint64_t* at) {
  const uint64_t base = (inst.saddr.is(OperandKind::kNone) ? 0 : wave.read_s64(inst.saddr)) +
                        static_cast<uint64_t>(int64_t{inst.offset});
  for (int lane = 0; lane < L; ++lane) at[lane] = base + 4 * static_cast<uint64_t>(lane);
}

template <int L>
void global_load_dword_addtid(Wave& wave, const Inst& inst) {
  uint64_t at[L];
  addtid_addresses<L>(wave, inst, at);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kLoad, at, wave.exec(), element_of<Dwords<1>>(inst.dst));
  load_global<Dwords<1>, L>(wave, at, wave.exec(), data_rows(wave, inst.dst));
}

template <int L>
void global_store_dword_addtid(Wave& wave, const Inst& inst) {
  uint64_t at[L];
  addtid_addresses<L>(wave, inst, at);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kStore, at, wave.exec(), element_of<Dwords<1>>(inst.src[0]));
  store_global<Dwords<1>, L>(wave, at, wave.exec(), data_rows(wave, inst.src[0]));
}

// --- Finding.

template <int L>
Handler find_move(const Inst& inst, bool sram_ecc) {
  switch (inst.op) {
// clang-format off
#define WT_DMA_LOAD(name, ...)                                                            \
  case Op::flat_load_##name: return load<Segment::kFlat, __VA_ARGS__, L>;                   \
  case Op::global_load_##name:                                                            \
    return inst.lds ? load_to_lds<__VA_ARGS__, L> : load<Segment::kGlobal, __VA_ARGS__, L>; \
  case Op::scratch_load_##name:                                                           \
    return inst.lds ? scratch_load_to_lds<__VA_ARGS__, L> : scratch_load<__VA_ARGS__, L>;
#define WT_LOAD(name, ...)                                                  \
  case Op::flat_load_##name: return load<Segment::kFlat, __VA_ARGS__, L>;     \
  case Op::global_load_##name: return load<Segment::kGlobal, __VA_ARGS__, L>; \
  case Op::scratch_load_##name: return scratch_load<__VA_ARGS__, L>;
#define WT_D16_LOAD(name, ...)                                                     \
  case Op::flat_load_##name:                                                       \
    return sram_ecc ? load<Segment::kFlat, Small<__VA_ARGS__, true>, L>              \
                    : load<Segment::kFlat, Small<__VA_ARGS__>, L>;                   \
  case Op::global_load_##name:                                                     \
    return sram_ecc ? load<Segment::kGlobal, Small<__VA_ARGS__, true>, L>            \
                    : load<Segment::kGlobal, Small<__VA_ARGS__>, L>;                 \
  case Op::scratch_load_##name:                                                    \
    return sram_ecc ? scratch_load<Small<__VA_ARGS__, true>, L> : scratch_load<Small<__VA_ARGS__>, L>;
#define WT_STORE(name, ...)                                                   \
  case Op::flat_store_##name: return store<Segment::kFlat, __VA_ARGS__, L>;     \
  case Op::global_store_##name: return store<Segment::kGlobal, __VA_ARGS__, L>; \
  case Op::scratch_store_##name: return scratch_store<__VA_ARGS__, L>;
// clang-format on
#include "emu/exec/mem_forms.inc"
    case Op::global_load_dword_addtid: return global_load_dword_addtid<L>;
    case Op::global_store_dword_addtid: return global_store_dword_addtid<L>;
    default: return nullptr;
  }
}

template <int L>
Handler find_atomic(const Inst& inst) {
  switch (inst.op) {
#define WT_ATOMIC(name, ...)                                                     \
  case Op::flat_atomic_##name: return atomic_op<Segment::kFlat, __VA_ARGS__, L>; \
  case Op::global_atomic_##name:                                                 \
    return atomic_op<Segment::kGlobal, __VA_ARGS__, L>;
#include "emu/exec/mem_forms.inc"
    case Op::flat_atomic_pk_add_bf16: return atomic_op<Segment::kFlat, atomic::PkAddBf16, L>;
    case Op::global_atomic_pk_add_bf16: return atomic_op<Segment::kGlobal, atomic::PkAddBf16, L>;
    case Op::global_atomic_csub: return atomic_op<Segment::kGlobal, atomic::Csub<uint32_t>, L>;
    default: return nullptr;
  }
}

template <int L>
Handler find_in(const Inst& inst, bool sram_ecc) {
  const Handler handler = find_move<L>(inst, sram_ecc);
  return handler != nullptr ? handler : find_atomic<L>(inst);
}

}  // namespace

Handler find_flat(const Inst& inst, Shape shape) {
  return shape.wave64 ? find_in<64>(inst, shape.sram_ecc) : find_in<32>(inst, shape.sram_ecc);
}

}  // namespace wavetap::emu
