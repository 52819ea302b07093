// SMEM: scalar loads, stores and atomics, the clocks, and scalar cache control.
//
// address = SBASE + immediate + SOFFSET, for the buffer forms V#.base + …; its low two bits do not
// count. The scalar cache is not modelled: a load always sees what memory holds.
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "emu/exec.h"
#include "emu/exec/atomics.h"
#include "emu/exec/note_access.h"
#include "emu/hwreg.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
namespace slot = isa::slot;

uint64_t offset_of(const Wave& wave, const Inst& inst) {
  uint64_t offset = static_cast<uint64_t>(int64_t{inst.offset});
  if (inst.soffset.kind != OperandKind::kNone) offset += wave.read_s32(inst.soffset);
  return offset;
}

uint64_t address_of(const Wave& wave, const Inst& inst) {
  return (wave.read_s64(inst.saddr) + offset_of(wave, inst)) & ~uint64_t{3};
}

// The part of a buffer descriptor that scalar accesses use.
//   0..47 base, 48..61 stride, 64..95 number of records
struct ScalarBuffer {
  uint64_t base;
  uint64_t size_bytes;

  ScalarBuffer(const Wave& wave, const Operand& descriptor) {
    const uint32_t* word = &wave.s[descriptor.index];
    base = word[0] | uint64_t{word[1] & 0xffff} << 32;
    const uint32_t stride = word[1] >> 16 & 0x3fff;
    size_bytes = stride == 0 ? word[2] : uint64_t{stride} * word[2];
  }
  bool contains(uint64_t offset, uint32_t bytes) const {
    return offset < size_bytes && size_bytes - offset >= bytes;
  }
};

void write_dwords(Wave& wave, const Operand& dst, const uint32_t* from, uint32_t dwords) {
  if (dst.index != slot::kNull) std::memcpy(&wave.s[dst.index], from, dwords * sizeof(uint32_t));
}

// Stores and atomics carry their data in the field that loads use for the result.
const Operand& data_of(const Inst& inst) {
  return inst.src[0].kind == OperandKind::kScalar ? inst.src[0] : inst.dst;
}

// Pages side by side need not be so on the host, so what crosses from one to the next goes by dwords.
bool crosses_pages(uint64_t address, uint32_t dwords) {
  constexpr uint64_t kPage = 4096;
  return address / kPage != (address + dwords * 4 - 1) / kPage;
}

bool read_memory(Wave& wave, uint64_t address, uint32_t dwords, uint32_t* value) {
  const uint32_t step = crosses_pages(address, dwords) ? 1 : dwords;
  for (uint32_t i = 0; i < dwords; i += step) {
    const std::byte* from = wave.translate(address + i * 4, step * 4, /*write=*/false, /*lane=*/-1);
    if (from == nullptr) return false;
    std::memcpy(value + i, from, step * sizeof(uint32_t));
  }
  return true;
}

// --- Loads.

void load(Wave& wave, const Inst& inst, uint64_t address, uint32_t dwords) {
  if (wave.notes_accesses)
    note_scalar(wave, inst, Access::kLoad, address, dwords * 4, dwords * 4, inst.dst);
  uint32_t value[16];
  if (!read_memory(wave, address, dwords, value)) return;
  write_dwords(wave, inst.dst, value, dwords);
}

template <uint32_t kDwords>
void s_load(Wave& wave, const Inst& inst) {
  load(wave, inst, address_of(wave, inst), kDwords);
}

// Dwords beyond the end of the buffer read as zero.
template <uint32_t kDwords>
void s_buffer_load(Wave& wave, const Inst& inst) {
  const ScalarBuffer buffer(wave, inst.saddr);
  const uint64_t offset = offset_of(wave, inst) & ~uint64_t{3};
  uint32_t inside = 0;
  while (inside < kDwords && buffer.contains(offset + inside * 4, 4)) ++inside;
  const uint64_t address = (buffer.base + offset) & ~uint64_t{3};
  if (wave.notes_accesses)
    note_scalar(wave, inst, Access::kLoad, address, kDwords * 4, inside * 4, inst.dst);
  uint32_t value[kDwords] = {};
  if (inside != 0 && !read_memory(wave, address, inside, value)) return;
  write_dwords(wave, inst.dst, value, kDwords);
}

// gfx9: SBASE is a scratch address, offsets are multiples of 64 bytes.
uint64_t scratch_address_of(const Wave& wave, const Inst& inst) {
  uint64_t address = wave.read_s64(inst.saddr) + static_cast<uint64_t>(int64_t{inst.offset} * 64);
  if (inst.soffset.kind != OperandKind::kNone) address += wave.read_s32(inst.soffset) & ~63u;
  return address & ~uint64_t{3};
}
template <uint32_t kDwords>
void s_scratch_load(Wave& wave, const Inst& inst) {
  load(wave, inst, scratch_address_of(wave, inst), kDwords);
}

// --- Stores, gfx9 and gfx10.1.

void store(Wave& wave, const Inst& inst, uint64_t address, uint32_t dwords) {
  if (wave.notes_accesses)
    note_scalar(wave, inst, Access::kStore, address, dwords * 4, dwords * 4, data_of(inst));
  const uint32_t step = crosses_pages(address, dwords) ? 1 : dwords;
  std::byte* to[4];
  for (uint32_t i = 0; i < dwords; i += step)  // all of it or nothing
    if (to[i] = wave.translate(address + i * 4, step * 4, /*write=*/true, /*lane=*/-1);
        to[i] == nullptr)
      return;
  for (uint32_t i = 0; i < dwords; i += step)
    std::memcpy(to[i], &wave.s[data_of(inst).index + i], step * sizeof(uint32_t));
}

template <uint32_t kDwords>
void s_store(Wave& wave, const Inst& inst) {
  store(wave, inst, address_of(wave, inst), kDwords);
}
template <uint32_t kDwords>
void s_scratch_store(Wave& wave, const Inst& inst) {
  store(wave, inst, scratch_address_of(wave, inst), kDwords);
}
// A store that does not fit into the buffer whole is dropped.
template <uint32_t kDwords>
void s_buffer_store(Wave& wave, const Inst& inst) {
  const ScalarBuffer buffer(wave, inst.saddr);
  const uint64_t offset = offset_of(wave, inst) & ~uint64_t{3};
  const uint64_t address = (buffer.base + offset) & ~uint64_t{3};
  if (buffer.contains(offset, kDwords * 4)) return store(wave, inst, address, kDwords);
  if (wave.notes_accesses)
    note_scalar(wave, inst, Access::kStore, address, kDwords * 4, 0, data_of(inst));
}

// --- Atomics, gfx9 and gfx10.1. The old value is returned in place of the data when GLC is set.

Access access_of(const Inst& inst) { return inst.glc ? Access::kAtomicReturn : Access::kAtomic; }

template <class A>
void atomic_at(Wave& wave, const Inst& inst, uint64_t address) {
  using T = typename A::Value;
  if (wave.notes_accesses)
    note_scalar(wave, inst, access_of(inst), address, sizeof(T), sizeof(T), data_of(inst));
  if (address % sizeof(T) != 0) return wave.raise(FaultKind::kMisaligned, {address}, true);
  std::byte* at = wave.translate(address, sizeof(T), /*write=*/true, /*lane=*/-1);
  if (at == nullptr) return;
  const uint32_t data_slot = data_of(inst).index;
  const auto operand = [&](uint32_t nth) {
    if constexpr (sizeof(T) == 8) return wave.s64(data_slot + nth * 2);
    else return wave.s[data_slot + nth];
  };
  constexpr bool kTwo = std::is_same_v<A, atomic::CompareSwap<T>>;
  const T data = operand(0);
  const T data2 = kTwo ? operand(1) : T{};
  std::atomic_ref<T> target(*reinterpret_cast<T*>(at));
  T old = target.load();
  while (!target.compare_exchange_weak(old, A::next(old, data, data2))) {
  }
  if (!inst.glc) return;
  if constexpr (sizeof(T) == 8) wave.set_s64(data_slot, old);
  else wave.s[data_slot] = old;
}

template <class A>
void s_atomic(Wave& wave, const Inst& inst) {
  atomic_at<A>(wave, inst, address_of(wave, inst));
}
template <class A>
void s_buffer_atomic(Wave& wave, const Inst& inst) {
  const ScalarBuffer buffer(wave, inst.saddr);
  const uint64_t offset = offset_of(wave, inst) & ~uint64_t{3};
  constexpr uint32_t kBytes = sizeof(typename A::Value);
  const uint64_t address = (buffer.base + offset) & ~uint64_t{3};
  if (buffer.contains(offset, kBytes)) return atomic_at<A>(wave, inst, address);
  if (wave.notes_accesses)
    note_scalar(wave, inst, access_of(inst), address, kBytes, 0, data_of(inst));
}

// --- Clocks and the rest.

// D = core clock, 64 bits.
void s_memtime(Wave& wave, const Inst& inst) { wave.write_s64(inst.dst, core_clock(wave)); }

// D = constant-rate clock, 64 bits.
void s_memrealtime(Wave& wave, const Inst& inst) {
  wave.write_s64(inst.dst, core_clock(wave) / 10);
}

// gfx10: D = number of this wave in its workgroup.
void s_get_waveid_in_workgroup(Wave& wave, const Inst& inst) {
  wave.write_s32(inst.dst, wave.wave_in_group);
}

// Cache control, and prefetches of address translations.
void nothing(Wave&, const Inst&) {}

template <template <class> class A>
Handler pick_atomic(bool buffer, bool wide) {
  if (buffer) return wide ? s_buffer_atomic<A<uint64_t>> : s_buffer_atomic<A<uint32_t>>;
  return wide ? s_atomic<A<uint64_t>> : s_atomic<A<uint32_t>>;
}

Handler find_atomic(Op op) {
#define WT_SCALAR_ATOMIC(name, type)                                      \
  case Op::s_atomic_##name: return pick_atomic<type>(false, false);       \
  case Op::s_atomic_##name##_x2: return pick_atomic<type>(false, true);   \
  case Op::s_buffer_atomic_##name: return pick_atomic<type>(true, false); \
  case Op::s_buffer_atomic_##name##_x2: return pick_atomic<type>(true, true);
  switch (op) {
    WT_SCALAR_ATOMIC(swap, atomic::Swap)
    WT_SCALAR_ATOMIC(cmpswap, atomic::CompareSwap)
    WT_SCALAR_ATOMIC(add, atomic::Add)
    WT_SCALAR_ATOMIC(sub, atomic::Sub)
    WT_SCALAR_ATOMIC(smin, atomic::Smin)
    WT_SCALAR_ATOMIC(umin, atomic::Umin)
    WT_SCALAR_ATOMIC(smax, atomic::Smax)
    WT_SCALAR_ATOMIC(umax, atomic::Umax)
    WT_SCALAR_ATOMIC(and, atomic::And)
    WT_SCALAR_ATOMIC(or, atomic::Or)
    WT_SCALAR_ATOMIC(xor, atomic::Xor)
    WT_SCALAR_ATOMIC(inc, atomic::Inc)
    WT_SCALAR_ATOMIC(dec, atomic::Dec)
    default: return nullptr;
  }
#undef WT_SCALAR_ATOMIC
}

// Scalar data of `dwords` registers must lie in the scalar file whatever the operand says.
bool fits(const Operand& operand, uint32_t dwords) {
  return operand.kind != OperandKind::kScalar || operand.index + dwords <= slot::kCount;
}

Handler checked(const Inst& inst, uint32_t dwords, Handler handler) {
  return fits(inst.dst, dwords) && fits(inst.src[0], dwords) ? handler : nullptr;
}

}  // namespace

Handler find_smem(const isa::Inst& inst, Shape) {
  switch (inst.op) {
    case Op::s_load_dword: return checked(inst, 1, s_load<1>);
    case Op::s_load_dwordx2: return checked(inst, 2, s_load<2>);
    case Op::s_load_dwordx4: return checked(inst, 4, s_load<4>);
    case Op::s_load_dwordx8: return checked(inst, 8, s_load<8>);
    case Op::s_load_dwordx16: return checked(inst, 16, s_load<16>);
    case Op::s_buffer_load_dword: return checked(inst, 1, s_buffer_load<1>);
    case Op::s_buffer_load_dwordx2: return checked(inst, 2, s_buffer_load<2>);
    case Op::s_buffer_load_dwordx4: return checked(inst, 4, s_buffer_load<4>);
    case Op::s_buffer_load_dwordx8: return checked(inst, 8, s_buffer_load<8>);
    case Op::s_buffer_load_dwordx16: return checked(inst, 16, s_buffer_load<16>);
    case Op::s_scratch_load_dword: return checked(inst, 1, s_scratch_load<1>);
    case Op::s_scratch_load_dwordx2: return checked(inst, 2, s_scratch_load<2>);
    case Op::s_scratch_load_dwordx4: return checked(inst, 4, s_scratch_load<4>);
    case Op::s_store_dword: return checked(inst, 1, s_store<1>);
    case Op::s_store_dwordx2: return checked(inst, 2, s_store<2>);
    case Op::s_store_dwordx4: return checked(inst, 4, s_store<4>);
    case Op::s_scratch_store_dword: return checked(inst, 1, s_scratch_store<1>);
    case Op::s_scratch_store_dwordx2: return checked(inst, 2, s_scratch_store<2>);
    case Op::s_scratch_store_dwordx4: return checked(inst, 4, s_scratch_store<4>);
    case Op::s_buffer_store_dword: return checked(inst, 1, s_buffer_store<1>);
    case Op::s_buffer_store_dwordx2: return checked(inst, 2, s_buffer_store<2>);
    case Op::s_buffer_store_dwordx4: return checked(inst, 4, s_buffer_store<4>);
    case Op::s_memtime: return s_memtime;
    case Op::s_memrealtime: return s_memrealtime;
    case Op::s_get_waveid_in_workgroup: return s_get_waveid_in_workgroup;
    case Op::s_dcache_inv:
    case Op::s_dcache_inv_vol:
    case Op::s_dcache_wb:
    case Op::s_dcache_wb_vol:
    case Op::s_dcache_discard:
    case Op::s_dcache_discard_x2:
    case Op::s_gl1_inv:
    case Op::s_atc_probe:
    case Op::s_atc_probe_buffer: return nothing;
    default: return checked(inst, 4, find_atomic(inst.op));
  }
}

}  // namespace wavetap::emu
