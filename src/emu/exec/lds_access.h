// LDS. The ISA's rule for DS instructions: an element that is not wholly inside the workgroup's
// allocation reads as zero and is not written. Any alignment is allowed (unaligned access mode,
// which the ROCm driver sets for every target here).
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/exec/element.h"
#include "emu/exec/lane_pattern.h"
#include "emu/wave.h"
#include "isa/inst.h"

namespace wavetap::emu {

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

}  // namespace wavetap::emu
