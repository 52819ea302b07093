// Moving data between vector registers and the three memories: global, scratch and LDS.
//
// Every family of memory instructions works in the same two steps: turn operands into one address per
// lane (all sources are read here, so a destination may overlap an address), then move one element per
// active lane. This header is the second step. An element policy (Dwords<N>, Small<…>) says how an
// element looks in memory and in registers; a space (global, scratch, LDS) says where bytes live.
//
// Speed: lanes that read consecutive elements of one mapped range are one row copy; other lanes whose
// lowest and highest byte share a mapped range need one range check per instruction; everything else
// goes lane by lane through Wave::translate(), which also reports faults. An access that crosses from
// one mapped range into the next is split by byte.
//
// Faults: the lowest faulting lane is reported, with the first byte it could not reach. Lanes below it
// have been carried out, as on hardware, where a memory fault is not precise either.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emu/wave.h"
#include "isa/inst.h"

namespace wavetap::emu {

inline uint32_t* data_rows(Wave& wave, const isa::Operand& operand) {
  return operand.is(isa::OperandKind::kAgpr) ? wave.arow(operand.index) : wave.vrow(operand.index);
}

// --- Element policies. `row` points at the lane's entry of the first register; `stride` is the row
// --- length, so register r of the element is row[r * stride].

// 32, 64, 96 or 128 bits in as many registers.
template <int N>
struct Dwords {
  static constexpr uint32_t kBytes = 4 * N;
  static constexpr int kRows = N;

  static void load(const std::byte* at, uint32_t* row, size_t stride) {
    uint32_t value[N];
    std::memcpy(value, at, kBytes);
    for (int i = 0; i < N; ++i) row[i * stride] = value[i];
  }
  static void store(std::byte* at, const uint32_t* row, size_t stride) {
    uint32_t value[N];
    for (int i = 0; i < N; ++i) value[i] = row[i * stride];
    std::memcpy(at, value, kBytes);
  }
};

// Which bits of the register an 8- or 16-bit element occupies. A load into one half keeps the other.
enum class Half : uint8_t { kWhole, kLow, kHigh };

template <class T, Half kHalf = Half::kWhole>
struct Small {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr int kRows = 1;

  static void load(const std::byte* at, uint32_t* row, size_t) {
    T value;
    std::memcpy(&value, at, sizeof value);
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(value));
    if constexpr (kHalf == Half::kWhole) *row = bits;
    if constexpr (kHalf == Half::kLow) *row = (*row & 0xffff0000u) | (bits & 0xffffu);
    if constexpr (kHalf == Half::kHigh) *row = (*row & 0xffffu) | bits << 16;
  }
  static void store(std::byte* at, const uint32_t* row, size_t) {
    const T value = static_cast<T>(kHalf == Half::kHigh ? *row >> 16 : *row);
    std::memcpy(at, &value, sizeof value);
  }
};

// What a lane outside a buffer or outside LDS reads.
template <class T>
void load_zero(uint32_t* row, size_t stride) {
  static constexpr std::byte kZero[16] = {};
  T::load(kZero, row, stride);
}

// --- Global memory.

// Host pointer for the range when the worker's translation cache has all of it; never raises.
inline std::byte* cached(const Wave& wave, uint64_t address, uint64_t size_bytes, bool write) {
  const Tlb& tlb = *wave.tlb;
  if (wave.dispatch->memory->epoch() != tlb.epoch) return nullptr;
  for (const MappedRange& range : tlb.entry)
    if (range.contains(address, size_bytes) && (write ? range.writable : range.readable))
      return range.host + (address - range.begin);
  return nullptr;
}

// The same for the elements at `low` … `high`, wherever between them they lie.
inline std::byte* cached_span(const Wave& wave, uint64_t low, uint64_t high, uint32_t size_bytes, bool write) {
  if (high - low >= kScratchVa) return nullptr;  // also keeps the sum below from wrapping
  return cached(wave, low, high - low + size_bytes, write);
}

// Copies between `data` and global memory, across range borders if need be. False after raise();
// nothing has been written then. mem_access.cc.
bool copy_global(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes, bool write, int lane);

// The lowest and the highest address of the lanes in `mask`, which is not empty.
template <class Address>
void address_bounds(const Address* at, uint64_t mask, Address& low, Address& high) {
  low = ~Address{0};
  high = 0;
  for_each_lane(mask, [&](int lane) {
    low = std::min(low, at[lane]);
    high = std::max(high, at[lane]);
  });
}

// Lane i accesses element i of an array, for all L lanes.
template <uint32_t kBytes, int L, class Address>
bool is_consecutive(const Address* at) {
  const Address first = at[0];
  Address difference = 0;
  for (int lane = 0; lane < L; ++lane) difference |= at[lane] ^ (first + static_cast<Address>(lane) * kBytes);
  return difference == 0;
}

template <class T, int L>
void load_row(const std::byte* __restrict from, uint32_t* __restrict rows) {
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(rows, from, size_t{4} * L);
  } else {
    for (int lane = 0; lane < L; ++lane) T::load(from + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

template <class T, int L>
void store_row(std::byte* __restrict to, const uint32_t* __restrict rows) {
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(to, rows, size_t{4} * L);
  } else {
    for (int lane = 0; lane < L; ++lane) T::store(to + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

template <int L>
constexpr uint64_t all_lanes() {
  return L == 64 ? ~uint64_t{0} : 0xffffffffu;
}

template <class T, int L>
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>() && is_consecutive<T::kBytes, L>(at)) {
    if (const std::byte* from = cached(wave, at[0], uint64_t{T::kBytes} * L, false)) {
      load_row<T, L>(from, rows);
      return;
    }
  }
  uint64_t low, high;
  address_bounds(at, mask, low, high);
  if (const std::byte* base = cached_span(wave, low, high, T::kBytes, false)) {
    for_each_lane(mask, [&](int lane) { T::load(base + (at[lane] - low), rows + lane, L); });
    return;
  }
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element[16];
    if (!copy_global(wave, at[lane], element, T::kBytes, false, lane)) return;
    T::load(element, rows + lane, L);
  }
}

template <class T, int L>
void store_global(Wave& wave, const uint64_t* at, uint64_t mask, const uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>() && is_consecutive<T::kBytes, L>(at)) {
    if (std::byte* to = cached(wave, at[0], uint64_t{T::kBytes} * L, true)) {
      store_row<T, L>(to, rows);
      return;
    }
  }
  uint64_t low, high;
  address_bounds(at, mask, low, high);
  if (std::byte* base = cached_span(wave, low, high, T::kBytes, true)) {
    for_each_lane(mask, [&](int lane) { T::store(base + (at[lane] - low), rows + lane, L); });
    return;
  }
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element[16];
    T::store(element, rows + lane, L);
    if (!copy_global(wave, at[lane], element, T::kBytes, true, lane)) return;
  }
}

// --- Scratch: byte `offset` of a lane is at Wave::scratch_offset(). Elements wider than a dword, and
// --- elements that cross a dword, are not contiguous on the host.

// Whether the lane's scratch holds the element; false after raise(). mem_access.cc.
bool check_scratch(Wave& wave, uint32_t offset, uint32_t size_bytes, bool write, int lane);

// Copies between `data` and a lane's scratch. False after raise(). mem_access.cc.
bool copy_scratch(Wave& wave, uint32_t offset, std::byte* data, uint32_t size_bytes, bool write, int lane);

template <class T, int L>
void load_scratch(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t* rows) {
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element[16];
    if (!copy_scratch(wave, at[lane], element, T::kBytes, false, lane)) return;
    T::load(element, rows + lane, L);
  }
}

template <class T, int L>
void store_scratch(Wave& wave, const uint32_t* at, uint64_t mask, const uint32_t* rows) {
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element[16];
    T::store(element, rows + lane, L);
    if (!copy_scratch(wave, at[lane], element, T::kBytes, true, lane)) return;
  }
}

// The dwords at `offset` of every lane are one host row: the usual case for stack slots. False when the
// element is not made of aligned dwords or does not fit; take the lane-by-lane way then.
template <class T>
bool is_scratch_row(const Wave& wave, uint32_t offset) {
  return T::kBytes % 4 == 0 && offset % 4 == 0 && offset <= wave.scratch_bytes_per_lane &&
         wave.scratch_bytes_per_lane - offset >= T::kBytes;
}

// Copies the lanes of `mask` from one row to another.
template <int L>
void blend_row(uint32_t* __restrict to, const uint32_t* __restrict from, uint64_t mask) {
  if (mask == all_lanes<L>()) {
    std::memcpy(to, from, size_t{4} * L);
  } else {
    for_each_lane(mask, [&](int lane) { to[lane] = from[lane]; });
  }
}

// --- LDS. The ISA's rule for DS instructions: an element that is not wholly inside the workgroup's
// --- allocation reads as zero and is not written. Any alignment is allowed (unaligned access mode, which
// --- the ROCm driver sets for every target here).

inline bool in_lds(const Wave& wave, uint32_t at, uint32_t size_bytes) {
  return at <= wave.lds_bytes && wave.lds_bytes - at >= size_bytes;
}

template <class T, int L>
void load_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>() && is_consecutive<T::kBytes, L>(at) && in_lds(wave, at[0], T::kBytes * L)) {
    load_row<T, L>(wave.lds + at[0], rows);
    return;
  }
  for_each_lane(mask, [&](int lane) {
    if (in_lds(wave, at[lane], T::kBytes))
      T::load(wave.lds + at[lane], rows + lane, L);
    else
      load_zero<T>(rows + lane, L);
  });
}

template <class T, int L>
void store_lds(Wave& wave, const uint32_t* at, uint64_t mask, const uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>() && is_consecutive<T::kBytes, L>(at) && in_lds(wave, at[0], T::kBytes * L)) {
    store_row<T, L>(wave.lds + at[0], rows);
    return;
  }
  for_each_lane(mask, [&](int lane) {
    if (in_lds(wave, at[lane], T::kBytes)) T::store(wave.lds + at[lane], rows + lane, L);
  });
}

// LDS-DMA: each lane's dword is at M0[15:0] + the instruction's offset + 4 * lane.
template <int L>
void dma_addresses(const Wave& wave, const isa::Inst& inst, uint32_t* at) {
  const uint32_t base = (wave.s[isa::slot::kM0] & 0xffff) + static_cast<uint32_t>(inst.offset);
  for (int lane = 0; lane < L; ++lane) at[lane] = base + 4 * static_cast<uint32_t>(lane);
}

template <int L>
void store_dma_row(Wave& wave, const isa::Inst& inst, uint64_t mask, const uint32_t* row) {
  uint32_t at[L];
  dma_addresses<L>(wave, inst, at);
  store_lds<Dwords<1>, L>(wave, at, mask, row);
}

template <int L>
void load_dma_row(Wave& wave, const isa::Inst& inst, uint64_t mask, uint32_t* row) {
  uint32_t at[L];
  dma_addresses<L>(wave, inst, at);
  load_lds<Dwords<1>, L>(wave, at, mask, row);
}

// --- Counters: what only the addresses tell. count.cc counts the instructions themselves. One call per
// --- instruction, and only when somebody asked (wave.counters is set).

enum class Access : uint8_t { kLoad, kStore, kAtomic };

// mem_access.cc.
void count_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t size_bytes, Access access);
void count_scratch(Wave& wave, uint64_t mask, uint32_t size_bytes);
void count_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t size_bytes);

}  // namespace wavetap::emu
