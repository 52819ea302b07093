// Moving data between vector registers and the three memories: global, scratch and LDS.
//
// Every family of memory instructions works in the same two steps: turn operands into one address
// per lane (all sources are read here, so a destination may overlap an address), then move one
// element per active lane. This header is the second step. An element policy (Dwords<N>, Small<…>)
// says how an element looks in memory and in registers; a space (global, scratch, LDS) says where
// bytes live.
//
// Speed: lanes that read consecutive elements of one mapped range are one row copy; other lanes
// whose lowest and highest byte share a mapped range need one range check per instruction;
// everything else goes lane by lane through Wave::translate(), which also reports faults. An access
// that crosses from one mapped range into the next is split by byte.
//
// Faults: the lowest faulting lane is reported, with the first byte it could not reach. Lanes below
// it have been carried out, as on hardware, where a memory fault is not precise either.
#pragma once

#include <algorithm>
#include <atomic>
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

// --- Element policies. `row` points at the lane's entry of the first register; `stride` is the
// --- row length, so register r of the element is row[r * stride].

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

// Which bits of the register an 8- or 16-bit element occupies. A load into one half keeps the
// other, or clears it: with SRAM ECC a register is written whole (Dispatch::sram_ecc).
enum class Half : uint8_t { kWhole, kLow, kHigh };

template <class T, Half kHalf = Half::kWhole, bool kClears = false>
struct Small {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr int kRows = 1;

  static void load(const std::byte* at, uint32_t* row, size_t) {
    T value;
    std::memcpy(&value, at, sizeof value);
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(value));
    const uint32_t kept = kClears ? 0 : *row;
    if constexpr (kHalf == Half::kWhole) *row = bits;
    if constexpr (kHalf == Half::kLow) *row = (kept & 0xffff0000u) | (bits & 0xffffu);
    if constexpr (kHalf == Half::kHigh) *row = (kept & 0xffffu) | bits << 16;
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

// The range around `address` in the worker's translation cache when it has all `size_bytes`, or an
// empty one; never raises.
inline MappedRange cached_range(const Wave& wave, uint64_t address, uint64_t size_bytes,
                                bool write) {
  const Tlb& tlb = *wave.tlb;
  if (wave.dispatch->memory->epoch() == tlb.epoch)
    for (const MappedRange& range : tlb.entry)
      if (range.contains(address, size_bytes) && (write ? range.writable : range.readable))
        return range;
  return {};
}

// Host pointer for `size_bytes` at `address`, or null under the same conditions.
inline std::byte* cached(const Wave& wave, uint64_t address, uint64_t size_bytes, bool write) {
  const MappedRange range = cached_range(wave, address, size_bytes, write);
  return range.host == nullptr ? nullptr : range.host + (address - range.begin);
}

// Copies between `data` and global memory, across range borders if need be. False after raise();
// nothing has been written then. exec/mem_access.cc.
bool copy_global(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes, bool write,
                 int lane);

// Lanes are looked at in groups of 16: kernels whose workgroups are two-dimensional and of that
// width access a row or a column of a tile, another one for each group. An ordinary row is a
// pattern of groups as well.
inline constexpr int kGroupLanes = 16;

// How the addresses relate within every group, when all lanes are active.
enum class Relation : uint8_t {
  kNone,
  kConsecutive,  // lane i accesses element i of an array
  kSame,         // all lanes access one element
};

template <class Address, int L>
struct Pattern {
  Relation relation = Relation::kNone;
  Address first[L / kGroupLanes] = {};  // the lowest lane's, by group
  // The groups continue each other: one array, or one element, for the whole wave.
  bool is_whole = false;
};

template <uint32_t kBytes, int L, class Address>
Pattern<Address, L> pattern_of(const Address* at) {
  Pattern<Address, L> pattern;
  // Most scattered accesses show by the second lane already.
  const Address step = at[1] - at[0];
  if (step != 0 && step != kBytes) return pattern;
  // Vectors of the language, since compilers make scalars of loops this short.
  constexpr int kLanes = 16 / sizeof(Address);
  constexpr int kVectors = kGroupLanes / kLanes;
  typedef Address Vector __attribute__((vector_size(16)));
  // How far each lane of a group is from its first one.
  Vector distance[kVectors];
  for (int i = 0; i < kVectors; ++i)
    for (int lane = 0; lane < kLanes; ++lane)
      distance[i][lane] = static_cast<Address>(i * kLanes + lane) * kBytes;
  for (Vector& vector : distance) vector &= step == 0 ? Address{0} : ~Address{0};
  Vector different[4] = {};  // several, so that no one has to wait for the last
  Address not_whole = 0;
  for (int group = 0; group < L; group += kGroupLanes) {
    const Address first = at[group];
    pattern.first[group / kGroupLanes] = first;
    not_whole |= first ^ (at[0] + static_cast<Address>(group) * step);
    for (int i = 0; i < kVectors; ++i) {
      Vector lanes;
      std::memcpy(&lanes, at + group + i * kLanes, sizeof lanes);
      different[i % 4] |= lanes ^ (distance[i] + first);
    }
  }
  const Vector all = (different[0] | different[1]) | (different[2] | different[3]);
  Address any = 0;
  for (int i = 0; i < kLanes; ++i) any |= all[i];
  if (any != 0) return pattern;
  pattern.relation = step == 0 ? Relation::kSame : Relation::kConsecutive;
  pattern.is_whole = not_whole == 0;
  return pattern;
}

// A dword of memory, at any alignment.
using Unaligned32 [[gnu::aligned(1), gnu::may_alias]] = uint32_t;

// Row copies, of all lanes or of the first kLanes. The multi-dword ones are written out so that
// compilers see a transposition and use the host's interleaving loads and stores.
template <class T, int L, int kLanes = L>
void load_row(const std::byte* __restrict from, uint32_t* __restrict rows) {
  const auto* words = reinterpret_cast<const Unaligned32*>(from);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(rows, from, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[lane] = words[2 * lane];
      rows[lane + L] = words[2 * lane + 1];
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[lane] = words[4 * lane];
      rows[lane + L] = words[4 * lane + 1];
      rows[lane + 2 * L] = words[4 * lane + 2];
      rows[lane + 3 * L] = words[4 * lane + 3];
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane)
      T::load(from + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

template <class T, int L, int kLanes = L>
void store_row(std::byte* __restrict to, const uint32_t* __restrict rows) {
  auto* words = reinterpret_cast<Unaligned32*>(to);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(to, rows, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      words[2 * lane] = rows[lane];
      words[2 * lane + 1] = rows[lane + L];
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      words[4 * lane] = rows[lane];
      words[4 * lane + 1] = rows[lane + L];
      words[4 * lane + 2] = rows[lane + 2 * L];
      words[4 * lane + 3] = rows[lane + 3 * L];
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane)
      T::store(to + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

// One element for all lanes.
template <class T, int L, int kLanes = L>
void broadcast_row(const std::byte* from, uint32_t* rows) {
  std::byte element[16];
  std::memcpy(element, from, T::kBytes);
  for (int lane = 0; lane < kLanes; ++lane) T::load(element, rows + lane, L);
}

// The groups of a pattern, `host` pointing at each one's first element.
template <class T, int L, class Address>
void load_groups(const Pattern<Address, L>& pattern, std::byte* const* host, uint32_t* rows) {
  if (pattern.is_whole) {
    if (pattern.relation == Relation::kConsecutive) return load_row<T, L>(host[0], rows);
    return broadcast_row<T, L>(host[0], rows);
  }
  for (int group = 0; group < L; group += kGroupLanes) {
    if (pattern.relation == Relation::kConsecutive)
      load_row<T, L, kGroupLanes>(host[group / kGroupLanes], rows + group);
    else broadcast_row<T, L, kGroupLanes>(host[group / kGroupLanes], rows + group);
  }
}

// Of consecutive elements. Where groups overlap, the highest lane's value stays, as without a
// pattern.
template <class T, int L, class Address>
void store_groups(const Pattern<Address, L>& pattern, std::byte* const* host,
                  const uint32_t* rows) {
  if (pattern.is_whole) return store_row<T, L>(host[0], rows);
  for (int group = 0; group < L; group += kGroupLanes)
    store_row<T, L, kGroupLanes>(host[group / kGroupLanes], rows + group);
}

template <int L>
constexpr uint64_t all_lanes() {
  return L == 64 ? ~uint64_t{0} : 0xffffffffu;
}

// Calls f(lane) for the lanes of `mask`; a plain loop when that is all of them.
template <int L, class F>
void for_lanes(uint64_t mask, F&& f) {
  if (mask == all_lanes<L>()) {
    for (int lane = 0; lane < L; ++lane) f(lane);
  } else {
    for_each_lane(mask, f);
  }
}

// The cached range in which all lanes of `mask` (not empty) have their elements, or an empty one.
template <uint32_t kBytes, int L>
MappedRange common_range(const Wave& wave, const uint64_t* at, uint64_t mask, bool write) {
  const MappedRange range = cached_range(wave, at[std::countr_zero(mask)], kBytes, write);
  if (range.host == nullptr) return {};
  const uint64_t begin = range.begin;
  const uint64_t last = range.end - range.begin - kBytes;
  uint64_t outside = 0;
  for_lanes<L>(mask, [&](int lane) { outside |= at[lane] - begin > last ? 1 : 0; });
  return outside == 0 ? range : MappedRange{};
}

// Host pointers for the groups of a pattern. False when one of them is not in a cached range.
template <uint32_t kBytes, int L>
bool cached_groups(const Wave& wave, const Pattern<uint64_t, L>& pattern, bool write,
                   std::byte** host) {
  const uint32_t size_bytes =
      pattern.relation == Relation::kConsecutive ? kBytes * kGroupLanes : kBytes;
  const MappedRange range = cached_range(wave, pattern.first[0], size_bytes, write);
  if (range.host == nullptr) return false;
  for (int group = 0; group < L / kGroupLanes; ++group) {
    if (!range.contains(pattern.first[group], size_bytes)) return false;
    host[group] = range.host + (pattern.first[group] - range.begin);
  }
  return true;
}

template <class T, int L>
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>()) {
    const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at);
    std::byte* from[L / kGroupLanes];
    if (pattern.relation != Relation::kNone &&
        cached_groups<T::kBytes, L>(wave, pattern, false, from))
      return load_groups<T, L>(pattern, from, rows);
  }
  if (const MappedRange range = common_range<T::kBytes, L>(wave, at, mask, false);
      range.host != nullptr) {
    for_lanes<L>(mask,
                 [&](int lane) { T::load(range.host + (at[lane] - range.begin), rows + lane, L); });
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
  // A kernel publishes data by waiting for its stores and then storing a flag, with nothing else in
  // between. Keeps this wave's earlier accesses before this store for whoever sees it; pairs with
  // the acquire of the reader, which is cache control (exec/mubuf.cc), an atomic, or the host's
  // own.
  std::atomic_thread_fence(std::memory_order_release);
  if (mask == all_lanes<L>()) {
    const Pattern<uint64_t, L> pattern = pattern_of<T::kBytes, L>(at);
    std::byte* to[L / kGroupLanes];
    if (pattern.relation == Relation::kConsecutive &&
        cached_groups<T::kBytes, L>(wave, pattern, true, to))
      return store_groups<T, L>(pattern, to, rows);
  }
  if (const MappedRange range = common_range<T::kBytes, L>(wave, at, mask, true);
      range.host != nullptr) {
    for_lanes<L>(
        mask, [&](int lane) { T::store(range.host + (at[lane] - range.begin), rows + lane, L); });
    return;
  }
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element[16];
    T::store(element, rows + lane, L);
    if (!copy_global(wave, at[lane], element, T::kBytes, true, lane)) return;
  }
}

// --- Scratch: byte `offset` of a lane is at Wave::scratch_offset(). Elements wider than a dword,
// --- and elements that cross a dword, are not contiguous on the host.

// Whether the lane's scratch holds the element; false after raise(). exec/mem_access.cc.
bool check_scratch(Wave& wave, uint32_t offset, uint32_t size_bytes, bool write, int lane);

// Copies between `data` and a lane's scratch. False after raise(). exec/mem_access.cc.
bool copy_scratch(Wave& wave, uint32_t offset, std::byte* data, uint32_t size_bytes, bool write,
                  int lane);

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

// The dwords at `offset` of every lane are one host row: the usual case for stack slots. False when
// the element is not made of aligned dwords or does not fit; take the lane-by-lane way then.
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

// --- LDS. The ISA's rule for DS instructions: an element that is not wholly inside the
// --- workgroup's allocation reads as zero and is not written. Any alignment is allowed (unaligned
// --- access mode, which the ROCm driver sets for every target here).

inline bool in_lds(const Wave& wave, uint32_t at, uint32_t size_bytes) {
  return at <= wave.lds_bytes && wave.lds_bytes - at >= size_bytes;
}

template <uint32_t kBytes, int L>
bool all_in_lds(const Wave& wave, const uint32_t* at, uint64_t mask) {
  if (wave.lds_bytes < kBytes) return false;
  const uint32_t last = wave.lds_bytes - kBytes;
  uint32_t outside = 0;
  for_lanes<L>(mask, [&](int lane) { outside |= at[lane] > last ? 1 : 0; });
  return outside == 0;
}

// Host pointers for the groups of a pattern, each moved by `offset`. False when one of them is not
// wholly in LDS.
template <uint32_t kBytes, int L>
bool groups_in_lds(const Wave& wave, const Pattern<uint32_t, L>& pattern, uint32_t offset,
                   std::byte** host) {
  const uint32_t size_bytes =
      pattern.relation == Relation::kConsecutive ? kBytes * kGroupLanes : kBytes;
  for (int group = 0; group < L / kGroupLanes; ++group) {
    if (!in_lds(wave, pattern.first[group] + offset, size_bytes)) return false;
    host[group] = wave.lds + (pattern.first[group] + offset);
  }
  return true;
}

template <class T, int L>
void load_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>()) {
    const Pattern<uint32_t, L> pattern = pattern_of<T::kBytes, L>(at);
    std::byte* from[L / kGroupLanes];
    if (pattern.relation != Relation::kNone && groups_in_lds<T::kBytes, L>(wave, pattern, 0, from))
      return load_groups<T, L>(pattern, from, rows);
  }
  if (all_in_lds<T::kBytes, L>(wave, at, mask)) {
    const std::byte* lds = wave.lds;
    for_lanes<L>(mask, [&](int lane) { T::load(lds + at[lane], rows + lane, L); });
    return;
  }
  for_each_lane(mask, [&](int lane) {
    if (in_lds(wave, at[lane], T::kBytes)) T::load(wave.lds + at[lane], rows + lane, L);
    else load_zero<T>(rows + lane, L);
  });
}

template <class T, int L>
void store_lds(Wave& wave, const uint32_t* at, uint64_t mask, const uint32_t* rows) {
  if (mask == 0) return;
  if (mask == all_lanes<L>()) {
    const Pattern<uint32_t, L> pattern = pattern_of<T::kBytes, L>(at);
    std::byte* to[L / kGroupLanes];
    if (pattern.relation == Relation::kConsecutive &&
        groups_in_lds<T::kBytes, L>(wave, pattern, 0, to))
      return store_groups<T, L>(pattern, to, rows);
  }
  if (all_in_lds<T::kBytes, L>(wave, at, mask)) {
    std::byte* lds = wave.lds;
    for_lanes<L>(mask, [&](int lane) { T::store(lds + at[lane], rows + lane, L); });
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

// --- Counters: what only the addresses tell. count.cc counts the instructions themselves. One
// --- call per instruction, and only when somebody asked (wave.counters is set).

enum class Access : uint8_t { kLoad, kStore, kAtomic };

// exec/mem_access.cc.
void count_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t size_bytes,
                  Access access);
void count_scratch(Wave& wave, uint64_t mask, uint32_t size_bytes);
void count_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t size_bytes);

}  // namespace wavetap::emu
