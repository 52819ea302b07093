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
#include <string_view>

#include "emu/exec.h"
#include "emu/exec/atomic_lanes.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

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

// Only flat_* reaches LDS and private memory; asked where an address looks like it.
bool is_flat(const Inst& inst) {
  return std::string_view(isa::op_name(inst.op)).starts_with("flat_");
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
bool check_flat_lds_lane(Wave& wave, uint32_t at, int lane, uint32_t size_bytes, bool write) {
  if (in_lds(wave, at, size_bytes)) return true;
  wave.raise(FaultKind::kApertureViolation, GpuAddr{kSharedAperture + at}, write, lane,
             "past the workgroup's LDS");
  return false;
}

bool check_flat_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t size_bytes,
                    bool write) {
  for (; mask != 0; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    if (!check_flat_lds_lane(wave, at[lane], lane, size_bytes, write)) return false;
  }
  return true;
}

// Some lanes of a flat access are in LDS or private memory.
template <class T, int L>
[[gnu::noinline, gnu::cold]] void load_split(Wave& wave, const Inst& inst, const uint64_t* at,
                                             uint32_t* rows, const Element& element) {
  uint32_t offset[L];
  const FlatLanes lanes = split_lanes(at, wave.exec(), offset);
  if (wave.notes_accesses) note_flat(wave, inst, Access::kLoad, at, offset, lanes, element);
  if (!check_flat_lds(wave, offset, lanes.lds, T::kBytes, false)) return;
  load_lds<T, L>(wave, offset, lanes.lds, rows);
  load_scratch<T, L>(wave, offset, lanes.scratch, rows);
  load_global<T, L>(wave, at, lanes.global, rows);
}

// The groups of a watched access that has a pattern in a cached range; false when it has none.
template <uint32_t kBytes, int L>
[[gnu::noinline]] bool noted_groups(Wave& wave, const Inst& inst, const AddressRows& quick,
                                    Access access, const Element& element,
                                    Pattern<uint64_t, L>& pattern, std::byte** host) {
  if (wave.exec() != all_lanes<L>() || quick.low == nullptr) return false;
  pattern = pattern_of_rows<kBytes, L>(quick);
  const bool is_write = access == Access::kStore;
  if (pattern.relation == Relation::kNone ||
      (is_write && pattern.relation != Relation::kConsecutive) ||
      !cached_groups<kBytes, L>(wave, pattern, is_write, host))
    return false;
  note_global_groups(wave, inst, access, pattern.relation, pattern.first, element);
  return true;
}

// rows = MEM[address]. `element`: as the instruction has it, which may be a half of a register.
template <class T, int L>
void load_rows(Wave& wave, const Inst& inst, uint32_t* rows, const Element& element) {
  const uint64_t mask = wave.exec();
  const AddressRows quick = address_rows<L>(wave, inst);
  if (!wave.notes_accesses) {
    if (load_quickly<T, L>(wave, quick, mask, rows)) return;
  } else {
    Pattern<uint64_t, L> pattern;
    std::byte* from[L / kGroupLanes];
    if (noted_groups<T::kBytes, L>(wave, inst, quick, Access::kLoad, element, pattern, from))
      return load_groups<T, L>(pattern, from, rows);
  }
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  if (reaches_aperture<L>(at, mask) && is_flat(inst))
    return load_split<T, L>(wave, inst, at, rows, element);
  const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at, mask);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kLoad, at, mask, element, pattern.relation);
  load_global<T, L>(wave, at, mask, pattern, rows);
}

// vdst = MEM[address]
template <class T, int L>
void load(Wave& wave, const Inst& inst) {
  load_rows<T, L>(wave, inst, data_rows(wave, inst.dst), element_of<T>(inst.dst));
}

// A half of vdst = MEM[address]
template <class H, int L>
void load_half(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  load_rows<typename H::Whole, L>(wave, inst, row, element_of<H>(inst.dst));
  put_halves<H, L>(wave, row, data_rows(wave, inst.dst));
}

template <class T, int L>
[[gnu::noinline, gnu::cold]] void store_split(Wave& wave, const Inst& inst, const uint64_t* at,
                                              const uint32_t* rows, const Element& element) {
  uint32_t offset[L];
  const FlatLanes lanes = split_lanes(at, wave.exec(), offset);
  if (wave.notes_accesses) note_flat(wave, inst, Access::kStore, at, offset, lanes, element);
  if (!check_flat_lds(wave, offset, lanes.lds, T::kBytes, true)) return;
  store_lds<T, L>(wave, offset, lanes.lds, rows);
  store_scratch<T, L>(wave, offset, lanes.scratch, rows);
  store_global<T, L>(wave, at, lanes.global, rows);
}

// MEM[address] = rows
template <class T, int L>
void store_rows(Wave& wave, const Inst& inst, const uint32_t* rows, const Element& element) {
  const uint64_t mask = wave.exec();
  const AddressRows quick = address_rows<L>(wave, inst);
  if (!wave.notes_accesses) {
    if (store_quickly<T, L>(wave, quick, mask, rows)) return;
  } else {
    Pattern<uint64_t, L> pattern;
    std::byte* to[L / kGroupLanes];
    if (noted_groups<T::kBytes, L>(wave, inst, quick, Access::kStore, element, pattern, to)) {
      publish_earlier();
      return store_groups<T, L>(pattern, to, rows);
    }
  }
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  if (reaches_aperture<L>(at, mask) && is_flat(inst))
    return store_split<T, L>(wave, inst, at, rows, element);
  const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at, mask);
  if (wave.notes_accesses)
    note_global(wave, inst, Access::kStore, at, mask, element, pattern.relation);
  store_global<T, L>(wave, at, mask, pattern, rows);
}

// MEM[address] = vdata
template <class T, int L>
void store(Wave& wave, const Inst& inst) {
  store_rows<T, L>(wave, inst, data_rows(wave, inst.src[0]), element_of<T>(inst.src[0]));
}

// MEM[address] = the high half of vdata
template <class H, int L>
void store_half(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  high_halves<L>(data_rows(wave, inst.src[0]), row);
  store_rows<typename H::Whole, L>(wave, inst, row, element_of<H>(inst.src[0]));
}

// One lane of an atomic operation, wherever it is. False after raise().
bool update_lane(Wave& wave, const AtomicOp& op, const FlatLanes& lanes, int lane, uint64_t at,
                 const AtomicRows& rows, size_t stride) {
  const uint64_t bit = uint64_t{1} << lane;
  const uint32_t* data = rows.data + lane;
  uint32_t* result = rows.result == nullptr ? nullptr : rows.result + lane;
  if (at % op.size_bytes != 0) {
    wave.raise(FaultKind::kMisaligned, GpuAddr{at}, true, lane, "atomic operation");
    return false;
  }
  if ((lanes.global & bit) != 0) {
    std::byte* host = wave.translate(at, op.size_bytes, true, lane);
    if (host == nullptr) return false;
    op.update_shared(host, data, result, stride);
    return true;
  }
  const auto offset = static_cast<uint32_t>(at);
  if ((lanes.lds & bit) != 0) {
    if (!check_flat_lds_lane(wave, offset, lane, op.size_bytes, true)) return false;
    op.update_private(wave.lds + offset, data, result, stride);
    return true;
  }
  if (!check_scratch(wave, offset, op.size_bytes, true, lane)) return false;
  std::byte element[8] = {};
  copy_scratch(wave, offset, element, op.size_bytes, false, lane);
  op.update_private(element, data, result, stride);
  copy_scratch(wave, offset, element, op.size_bytes, true, lane);
  return true;
}

// tmp = MEM[address]; MEM[address] = next(tmp, vdata); vdst = tmp (when the instruction returns it)
template <int L>
void atomic_op(Wave& wave, const Inst& inst) {
  const AtomicOp& op = *find_atomic_op(inst.op);
  const uint64_t mask = wave.exec();
  const AtomicRows rows = atomic_rows(wave, inst);
  if (!wave.notes_accesses &&
      update_quickly<L>(wave, op, address_rows<L>(wave, inst), mask, rows.data, rows.result))
    return;
  uint64_t at[L];
  lane_addresses<L>(wave, inst, at);
  uint32_t offset[L] = {};
  FlatLanes lanes;
  lanes.global = mask;
  if (reaches_aperture<L>(at, mask) && is_flat(inst)) lanes = split_lanes(at, mask, offset);
  if (wave.notes_accesses)
    note_flat(wave, inst, atomic_access(inst.dst), at, offset, lanes,
              atomic_element(op.size_bytes, inst.dst, inst.src[0]));
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!update_lane(wave, op, lanes, lane, at[lane], rows, L)) return;
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
#define WT_DMA_LOAD(name, ...)                                           \
  case Op::flat_load_##name: return load<__VA_ARGS__, L>;                \
  case Op::global_load_##name:                                           \
    return inst.lds ? load_to_lds<__VA_ARGS__, L> : load<__VA_ARGS__, L>; \
  case Op::scratch_load_##name:                                          \
    return inst.lds ? scratch_load_to_lds<__VA_ARGS__, L> : scratch_load<__VA_ARGS__, L>;
#define WT_LOAD(name, ...)                                  \
  case Op::flat_load_##name:                                \
  case Op::global_load_##name: return load<__VA_ARGS__, L>; \
  case Op::scratch_load_##name: return scratch_load<__VA_ARGS__, L>;
#define WT_D16_LOAD(name, ...)                                                                       \
  case Op::flat_load_##name:                                                                         \
  case Op::global_load_##name:                                                                       \
    return sram_ecc ? load_half<Small<__VA_ARGS__, true>, L> : load_half<Small<__VA_ARGS__>, L>;     \
  case Op::scratch_load_##name:                                                                      \
    return sram_ecc ? scratch_load<Small<__VA_ARGS__, true>, L> : scratch_load<Small<__VA_ARGS__>, L>;
#define WT_STORE(name, ...)                                   \
  case Op::flat_store_##name:                                 \
  case Op::global_store_##name: return store<__VA_ARGS__, L>; \
  case Op::scratch_store_##name: return scratch_store<__VA_ARGS__, L>;
#define WT_D16_STORE(name, ...)                                    \
  case Op::flat_store_##name:                                      \
  case Op::global_store_##name: return store_half<__VA_ARGS__, L>; \
  case Op::scratch_store_##name: return scratch_store<__VA_ARGS__, L>;
// clang-format on
#include "emu/exec/mem_forms.inc"
    case Op::global_load_dword_addtid: return global_load_dword_addtid<L>;
    case Op::global_store_dword_addtid: return global_store_dword_addtid<L>;
    default: return nullptr;
  }
}

template <int L>
Handler find_in(const Inst& inst, bool sram_ecc) {
  if (find_atomic_op(inst.op) != nullptr) return atomic_op<L>;
  return find_move<L>(inst, sram_ecc);
}

}  // namespace

Handler find_flat(const Inst& inst, Shape shape) {
  return shape.wave64 ? find_in<64>(inst, shape.sram_ecc) : find_in<32>(inst, shape.sram_ecc);
}

}  // namespace wavetap::emu
