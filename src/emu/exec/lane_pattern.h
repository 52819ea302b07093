// How the addresses of a wave's lanes relate. Lanes that access consecutive elements, or all the
// same one, are served by one copy instead of one per lane.
#pragma once

#include <cstdint>
#include <cstring>

#include "emu/access.h"
#include "emu/exec/element.h"
#include "emu/wave.h"

namespace wavetap::emu {

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

template <int L>
constexpr uint64_t all_lanes() {
  return L == 64 ? ~uint64_t{0} : 0xffffffffu;
}

// Nothing is known when lanes are off.
template <uint32_t kBytes, int L, class Address>
Pattern<Address, L> pattern_of(const Address* at, uint64_t mask) {
  return mask == all_lanes<L>() ? pattern_of<kBytes, L>(at) : Pattern<Address, L>{};
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

// Calls f(lane) for the lanes of `mask`; a plain loop when that is all of them.
template <int L, class F>
void for_lanes(uint64_t mask, F&& f) {
  if (mask == all_lanes<L>()) {
    for (int lane = 0; lane < L; ++lane) f(lane);
  } else {
    for_each_lane(mask, f);
  }
}

// Loads and stores of halves of registers are those of whole ones, and a step in registers. A load that
// faulted has no values to put anywhere.
template <class H, int L>
void put_halves(const Wave& wave, const uint32_t* from, uint32_t* to) {
  if (wave.state == WaveState::kFaulted) return;
  for_lanes<L>(wave.exec(), [&](int lane) { H::put(from[lane], to + lane); });
}
template <int L>
void high_halves(const uint32_t* from, uint32_t* to) {
  for (int lane = 0; lane < L; ++lane) to[lane] = from[lane] >> 16;
}

}  // namespace wavetap::emu
