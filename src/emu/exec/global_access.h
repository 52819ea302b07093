// Global memory: elements of a wave's lanes, each at its own GPU address. mem_access.h has the plan.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "emu/exec/element.h"
#include "emu/exec/lane_pattern.h"
#include "emu/wave.h"

namespace wavetap::emu {

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
// nothing has been written then.
bool copy_global(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes, bool write,
                 int lane);

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

// Addresses as registers have them, not added up yet: base + (low[lane] | high[lane] << 32).
struct AddressRows {
  uint64_t base = 0;
  const uint32_t* low = nullptr;   // null: nothing to be had here
  const uint32_t* high = nullptr;  // null: 0 in all lanes
};

// The pattern of the addresses, found in the registers themselves: half the work of making addresses
// first. kNone where it is not sure; all lanes are active. Never of an aperture (1 << 48 and above).
template <uint32_t kBytes, int L>
[[gnu::always_inline]] inline Pattern<uint64_t, L> pattern_of_rows(const AddressRows& at) {
  uint64_t base = at.base;
  const uint32_t* const low = at.low;
  const uint32_t* const high = at.high;
  Pattern<uint64_t, L> wide;
  const Pattern<uint32_t, L> narrow = pattern_of<kBytes, L>(low);
  if (narrow.relation == Relation::kNone) return wide;
  if (high != nullptr) {
    typedef uint32_t Vector __attribute__((vector_size(16)));
    Vector different[4] = {};
    for (int i = 0; i < L; i += 16) {
      for (int part = 0; part < 4; ++part) {
        Vector lanes;
        std::memcpy(&lanes, high + i + 4 * part, sizeof lanes);
        different[part] |= lanes ^ high[0];
      }
    }
    const Vector all = (different[0] | different[1]) | (different[2] | different[3]);
    if ((all[0] | all[1] | all[2] | all[3]) != 0) return wide;
    base += uint64_t{high[0]} << 32;
  }
  // The 32 bits must not have wrapped on the way from lane to lane: the 64 bits do not.
  constexpr uint32_t kLastFirst = ~uint32_t{0} - kBytes * L;
  uint64_t any = 0;
  uint32_t largest = 0;
  for (int group = 0; group < L / kGroupLanes; ++group) {
    wide.first[group] = base + narrow.first[group];
    any |= wide.first[group];
    largest = largest < narrow.first[group] ? narrow.first[group] : largest;
  }
  if (largest > kLastFirst || any >> 48 != 0) return wide;
  wide.relation = narrow.relation;
  wide.is_whole = narrow.is_whole;
  return wide;
}

// When the elements of all lanes of `mask` lie in one cached range: the host's address to which `low`
// is to be added, else null. One look into the cache for all lanes; never an aperture.
template <uint32_t kBytes, int L>
[[gnu::always_inline]] inline std::byte* host_of_rows(const Wave& wave, const AddressRows& at,
                                                      uint64_t mask, bool write) {
  uint64_t base = at.base;
  const uint32_t* const low = at.low;
  const uint32_t* const high = at.high;
  if (mask == 0) return nullptr;
  const int lane0 = std::countr_zero(mask);
  const uint32_t high0 = high == nullptr ? 0 : high[lane0];
  uint32_t least = ~uint32_t{0}, most = 0, different = 0;
  if (mask == all_lanes<L>()) {
    for (int lane = 0; lane < L; ++lane) {
      least = low[lane] < least ? low[lane] : least;
      most = low[lane] > most ? low[lane] : most;
    }
    if (high != nullptr)
      for (int lane = 0; lane < L; ++lane) different |= high[lane] ^ high0;
  } else {
    for_each_lane(mask, [&](int lane) {
      least = low[lane] < least ? low[lane] : least;
      most = low[lane] > most ? low[lane] : most;
      if (high != nullptr) different |= high[lane] ^ high0;
    });
  }
  if (different != 0) return nullptr;
  base += uint64_t{high0} << 32;
  if ((base | (base + most)) >> 48 != 0) return nullptr;
  const MappedRange range =
      cached_range(wave, base + least, uint64_t{most} - least + kBytes, write);
  // As a number: `base` itself may be outside the range.
  return range.host == nullptr ? nullptr
                               : reinterpret_cast<std::byte*>(
                                     reinterpret_cast<uintptr_t>(range.host) + base - range.begin);
}

// Of a load or store whose addresses have a pattern in a cached range: true, and done, when so.
template <class T, int L>
[[gnu::always_inline]] inline bool load_pattern(Wave& wave, const Pattern<uint64_t, L>& pattern,
                                                uint32_t* rows) {
  if (pattern.relation == Relation::kNone) return false;
  std::byte* from[L / kGroupLanes];
  if (!cached_groups<T::kBytes, L>(wave, pattern, false, from)) return false;
  load_groups<T, L>(pattern, from, rows);
  return true;
}

// `pattern`: of the addresses.
template <class T, int L>
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, const Pattern<uint64_t, L>& pattern,
                 uint32_t* rows) {
  if (mask == 0) return;
  if (load_pattern<T, L>(wave, pattern, rows)) return;
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

// The quick way of a load: no lane leaves the cached range. False, and nothing done, otherwise. The
// caller has made sure that nobody watches.
template <class T, int L>
bool load_quickly(Wave& wave, const AddressRows& at, uint64_t mask, uint32_t* rows) {
  if (at.low == nullptr) return false;
  if (mask == all_lanes<L>() && load_pattern<T, L>(wave, pattern_of_rows<T::kBytes, L>(at), rows))
    return true;
  const std::byte* host = host_of_rows<T::kBytes, L>(wave, at, mask, /*write=*/false);
  if (host == nullptr) return false;
  // Results may take the place of addresses: of their own lane only, whose has been read.
  for_lanes<L>(mask, [&](int lane) { T::load(host + at.low[lane], rows + lane, L); });
  return true;
}

template <class T, int L>
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t* rows) {
  load_global<T, L>(wave, at, mask, pattern_of<T::kBytes, L>(at, mask), rows);
}

// A kernel publishes data by waiting for its stores and then storing a flag, with nothing else in
// between. Keeps this wave's earlier accesses before this store for whoever sees it; pairs with the
// acquire of the reader, which is cache control (exec/mubuf.cc), an atomic, or the host's own.
inline void publish_earlier() { std::atomic_thread_fence(std::memory_order_release); }

template <class T, int L>
[[gnu::always_inline]] inline bool store_pattern(Wave& wave, const Pattern<uint64_t, L>& pattern,
                                                 const uint32_t* rows) {
  if (pattern.relation != Relation::kConsecutive) return false;
  std::byte* to[L / kGroupLanes];
  if (!cached_groups<T::kBytes, L>(wave, pattern, true, to)) return false;
  publish_earlier();
  store_groups<T, L>(pattern, to, rows);
  return true;
}

template <class T, int L>
void store_global(Wave& wave, const uint64_t* at, uint64_t mask,
                  const Pattern<uint64_t, L>& pattern, const uint32_t* rows) {
  if (mask == 0) return;
  if (store_pattern<T, L>(wave, pattern, rows)) return;
  publish_earlier();
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

template <class T, int L>
void store_global(Wave& wave, const uint64_t* at, uint64_t mask, const uint32_t* rows) {
  store_global<T, L>(wave, at, mask, pattern_of<T::kBytes, L>(at, mask), rows);
}

// As load_quickly().
template <class T, int L>
bool store_quickly(Wave& wave, const AddressRows& at, uint64_t mask, const uint32_t* rows) {
  if (at.low == nullptr) return false;
  if (mask == all_lanes<L>() && store_pattern<T, L>(wave, pattern_of_rows<T::kBytes, L>(at), rows))
    return true;
  std::byte* host = host_of_rows<T::kBytes, L>(wave, at, mask, /*write=*/true);
  if (host == nullptr) return false;
  publish_earlier();
  for_lanes<L>(mask, [&](int lane) { T::store(host + at.low[lane], rows + lane, L); });
  return true;
}

// Compiled once, in exec/global_access.cc, for all families of instructions.
#define WT_EXTERN extern
#include "emu/exec/global_moves.inc"

}  // namespace wavetap::emu
