// Scratch: byte `offset` of a lane is at Wave::scratch_offset(). Elements wider than a dword, and
// elements that cross a dword, are not contiguous on the host.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emu/exec/element.h"
#include "emu/exec/lane_pattern.h"
#include "emu/wave.h"

namespace wavetap::emu {

// Whether the lane's scratch holds the element; false after raise().
bool check_scratch(Wave& wave, uint32_t offset, uint32_t size_bytes, bool write, int lane);

// Copies between `data` and a lane's scratch. False after raise().
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

}  // namespace wavetap::emu
