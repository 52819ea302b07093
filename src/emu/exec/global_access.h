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

// `pattern`: of the addresses.
template <class T, int L>
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, const Pattern<uint64_t, L>& pattern,
                 uint32_t* rows) {
  if (mask == 0) return;
  if (pattern.relation != Relation::kNone) {
    std::byte* from[L / kGroupLanes];
    if (cached_groups<T::kBytes, L>(wave, pattern, false, from))
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
void load_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t* rows) {
  load_global<T, L>(wave, at, mask, pattern_of<T::kBytes, L>(at, mask), rows);
}

template <class T, int L>
void store_global(Wave& wave, const uint64_t* at, uint64_t mask,
                  const Pattern<uint64_t, L>& pattern, const uint32_t* rows) {
  if (mask == 0) return;
  // A kernel publishes data by waiting for its stores and then storing a flag, with nothing else in
  // between. Keeps this wave's earlier accesses before this store for whoever sees it; pairs with
  // the acquire of the reader, which is cache control (exec/mubuf.cc), an atomic, or the host's
  // own.
  std::atomic_thread_fence(std::memory_order_release);
  if (pattern.relation == Relation::kConsecutive) {
    std::byte* to[L / kGroupLanes];
    if (cached_groups<T::kBytes, L>(wave, pattern, true, to))
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

template <class T, int L>
void store_global(Wave& wave, const uint64_t* at, uint64_t mask, const uint32_t* rows) {
  store_global<T, L>(wave, at, mask, pattern_of<T::kBytes, L>(at, mask), rows);
}

}  // namespace wavetap::emu
