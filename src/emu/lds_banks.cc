#include "emu/lds_banks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::emu {
namespace {

constexpr uint32_t kMaxBanks = 64;
constexpr uint32_t kMaxDwords = 5;  // an unaligned element of 16 bytes lies in five

// The order in which loads of 16 bytes take groups of four lanes: a phase is two of them.
constexpr uint8_t kWideLoadPair[8] = {5, 4, 7, 6, 1, 0, 3, 2};

// A power of two, as the number of banks is: nothing here divides, which takes longer than all the rest.
uint32_t phase_shift(uint32_t size_bytes, uint32_t banks) {
  const uint32_t shift = size_bytes <= 4 ? 5 : size_bytes <= 8 ? 4 : 3;
  return shift + (banks > 32 ? 1 : 0);
}
uint32_t lanes_per_phase(uint32_t size_bytes, uint32_t banks) {
  return 1u << phase_shift(size_bytes, banks);
}

// What the lanes of one phase want of one bank. Valid when the bank is busy.
struct Bank {
  uint64_t lanes;
  uint32_t dwords;  // different ones
  uint32_t wishes;
  uint16_t first;  // place of its first dword
};

// What a phase adds, from what the banks have to do at most.
void add_turns(uint32_t most_dwords, uint32_t most_turns, LdsCost& cost) {
  cost.bank_conflicts += most_dwords - 1;
  cost.address_conflicts += most_turns - most_dwords;
}

// The addresses of active lanes, one behind the other.
struct Places {
  uint32_t count = 0;
  uint32_t at[64];

  explicit Places(const MemoryAccess& access) {
    if (access.mask == 0xffffffff || access.mask == ~uint64_t{0}) {
      count = access.mask == 0xffffffff ? 32 : 64;
      for (uint32_t i = 0; i < count; i += 32)
        for (uint32_t lane = i; lane < i + 32; ++lane)
          at[lane] = static_cast<uint32_t>(access.address[lane]);
      return;
    }
    for (uint64_t rest = access.mask; rest != 0; rest &= rest - 1)
      at[count++] = static_cast<uint32_t>(access.address[std::countr_zero(rest)]);
  }
};

// A phase of elements of up to four bytes, `count` of them. False: some lie in two dwords, or far apart.
constexpr uint32_t kMaxReach = 2048;  // dwords
bool add_narrow_phase(const uint32_t* at, uint32_t count, uint32_t size_bytes, uint32_t banks,
                      uint64_t lanes, bool is_atomic, LdsCost& cost) {
  uint32_t least = ~0u, most = 0, over = 0;
  for (uint32_t i = 0; i < count; ++i) {
    least = std::min(least, at[i]);
    most = std::max(most, at[i]);
    over |= (at[i] & 3) + size_bytes - 1;
  }
  const uint32_t reach = (most + size_bytes - 1) / 4 - least / 4;
  // Dwords as near as there are banks are in banks of their own.
  if (!is_atomic && reach < banks) return true;
  if (over > 3 || reach >= kMaxReach) return false;
  // Nothing is decided by lane: where lanes go by chance, it could not be guessed.
  const uint32_t bank_mask = banks - 1;
  uint8_t seen[kMaxReach / 8] = {};  // dwords, a bit each
  uint16_t work[kMaxBanks] = {};     // by bank: lanes, and dwords << 8
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t dword = (at[i] - (least & ~3u)) / 4;
    uint8_t& known = seen[dword / 8];
    const uint32_t before = known;
    known = static_cast<uint8_t>(before | 1u << dword % 8);
    const uint32_t is_new = ~before >> dword % 8 & 1;
    uint16_t& of_bank = work[at[i] / 4 & bank_mask];
    of_bank = static_cast<uint16_t>(of_bank + 1 + (is_new << 8));
  }
  uint16_t most_dwords = 0, most_lanes = 0;
  for (const uint16_t of_bank : work) {
    most_dwords = std::max<uint16_t>(most_dwords, of_bank >> 8);
    most_lanes = std::max<uint16_t>(most_lanes, of_bank & 0xff);
  }
  add_turns(most_dwords, is_atomic ? most_lanes : most_dwords, cost);
  if (most_dwords == 1) return true;
  uint64_t rest = lanes;
  for (uint32_t i = 0; i < count; ++i, rest &= rest - 1) {
    const bool meets = work[at[i] / 4 & bank_mask] >= 2 << 8;
    cost.conflicting |= meets ? rest & (~rest + 1) : 0;
  }
  if (most_dwords <= cost.ways) return true;
  cost.ways = most_dwords;
  cost.worst_bank = 0;
  while (work[cost.worst_bank] >> 8 != most_dwords) ++cost.worst_bank;
  return true;
}

// A phase: `lanes` are its active ones.
void add_phase(const MemoryAccess& access, uint32_t banks, uint64_t lanes, bool is_atomic,
               LdsCost& cost) {
  struct Dword {
    uint32_t number;
    uint16_t next;  // of the same bank; its own place: none
  };
  Bank bank[kMaxBanks];
  Dword dwords[kMaxDwords * 64];
  const uint32_t bank_mask = banks - 1;  // a power of two
  const uint32_t last_byte = access.size_bytes - 1;
  uint16_t used = 0;
  uint64_t busy = 0;
  bool is_free = true;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t lane = rest & (~rest + 1);
    const auto at = static_cast<uint32_t>(access.address[std::countr_zero(rest)]);
    for (uint32_t number = at / 4; number <= (at + last_byte) / 4; ++number) {
      Bank& one = bank[number & bank_mask];
      const uint64_t bit = uint64_t{1} << (number & bank_mask);
      if ((busy & bit) == 0) {
        busy |= bit;
        one = {lane, 1, 1, used};
        dwords[used] = {number, used};
        ++used;
        continue;
      }
      one.lanes |= lane;
      ++one.wishes;
      is_free = is_free && !is_atomic;
      uint16_t known = one.first;
      while (dwords[known].number != number && dwords[known].next != known)
        known = dwords[known].next;
      if (dwords[known].number == number) continue;
      is_free = false;
      ++one.dwords;
      dwords[known].next = used;
      dwords[used] = {number, used};
      ++used;
    }
  }
  if (is_free) return;
  uint32_t most_dwords = 1;
  uint32_t most_turns = 1;
  for (; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<uint32_t>(std::countr_zero(busy));
    const Bank& one = bank[number];
    if (one.dwords > 1) cost.conflicting |= one.lanes;
    if (one.dwords > cost.ways) cost.ways = one.dwords, cost.worst_bank = number;
    most_dwords = std::max(most_dwords, one.dwords);
    most_turns = std::max(most_turns, is_atomic ? one.wishes : one.dwords);
  }
  add_turns(most_dwords, most_turns, cost);
}

// What was worked out last: counters and watchers ask about the same access, one after the other.
struct LastCost {
  uint64_t mask = 0;
  uint32_t size_bytes = 0;
  uint32_t banks = 0;
  Access access = Access::kLoad;
  uint32_t at[64] = {};
  LdsCost cost;

  bool is(const MemoryAccess& other, uint32_t other_banks, const Places& places) const {
    return mask == other.mask && size_bytes == other.size_bytes && banks == other_banks &&
           access == other.access && std::memcmp(at, places.at, places.count * sizeof *at) == 0;
  }
  void keep(const MemoryAccess& of, uint32_t of_banks, const Places& places,
            const LdsCost& result) {
    mask = of.mask;
    size_bytes = of.size_bytes;
    banks = of_banks;
    access = of.access;
    std::memcpy(at, places.at, places.count * sizeof *at);
    cost = result;
  }
};
thread_local constinit LastCost t_last;

// Whether lanes in a relation, in `groups` of kGroupLanes, meet at no bank in any phase, where that is plain to
// see; false: look closer.
bool is_plainly_free(const MemoryAccess& access, int groups, uint32_t banks) {
  const bool is_atomic = access.access == Access::kAtomic || access.access == Access::kAtomicReturn;
  const bool is_row = access.relation == Relation::kConsecutive;
  const uint64_t row_bytes = is_row ? kGroupLanes * uint64_t{access.size_bytes} : access.size_bytes;
  if (is_row) {
    bool is_whole = true;
    for (int i = 1; i < groups; ++i)
      is_whole &= access.address[i * kGroupLanes] ==
                  access.address[0] + static_cast<uint64_t>(i) * row_bytes;
    if (is_whole)
      return access.address[0] % 4 == 0 && access.size_bytes <= 16 &&
             (!is_atomic || access.size_bytes % 4 == 0);
  }
  if (is_atomic || banks != 32) return false;
  // Phases are of lanes of one half of the wave. Dwords that lie as close as there are banks are in
  // banks of their own.
  for (int group = 0; group < groups; group += 2) {
    const uint64_t one = access.address[group * kGroupLanes];
    const uint64_t other = access.address[(group + 1) * kGroupLanes];
    const uint64_t last = std::max(one, other) + row_bytes - 1;
    if (last / 4 - std::min(one, other) / 4 >= banks) return false;
  }
  return true;
}

}  // namespace

uint64_t lds_phase_of(int lane, uint32_t size_bytes, bool is_load, uint32_t banks) {
  const uint32_t count = lanes_per_phase(size_bytes, banks);
  const auto number = static_cast<uint32_t>(lane);
  if (size_bytes == 16 && is_load && count == 8) {
    const uint32_t half = number & ~31u;
    const uint32_t four = (number & 31) / 4;
    return uint64_t{0xf} << (half + four * 4) | uint64_t{0xf} << (half + kWideLoadPair[four] * 4u);
  }
  if (count == 64) return ~uint64_t{0};
  return ((uint64_t{1} << count) - 1) << (number / count * count);
}

uint32_t lds_phases_if_free(const MemoryAccess& access, uint32_t banks) {
  if (access.relation == Relation::kNone) return 0;
  const int lanes = std::popcount(access.mask);
  if (!is_plainly_free(access, lanes / kGroupLanes, banks)) return 0;
  return std::max(1u, static_cast<uint32_t>(lanes) >> phase_shift(access.size_bytes, banks));
}

LdsCost lds_cost(const MemoryAccess& access, uint32_t banks) {
  LdsCost cost;
  const bool is_load = access.access == Access::kLoad;
  const bool is_atomic = access.access == Access::kAtomic || access.access == Access::kAtomicReturn;
  if (const uint32_t phases = lds_phases_if_free(access, banks); phases != 0) {
    cost.phases = phases;
    cost.ways = 1;
    cost.worst_bank = static_cast<uint32_t>(access.address[0] / 4) & (banks - 1);
    return cost;
  }
  const Places places(access);
  if (places.count == 0) return cost;
  if (t_last.is(access, banks, places)) return t_last.cost;
  for (uint64_t rest = access.mask; rest != 0;) {
    const uint64_t phase = lds_phase_of(std::countr_zero(rest), access.size_bytes, is_load, banks);
    const uint64_t lanes = access.mask & phase;
    // Of elements this narrow, phases are neighbouring lanes.
    const uint32_t* const at = places.at + places.count - std::popcount(rest);
    rest &= ~phase;
    ++cost.phases;
    if (cost.ways == 0) {
      cost.ways = 1;
      cost.worst_bank = places.at[0] / 4 & (banks - 1);
    }
    if (access.size_bytes > 4 ||
        !add_narrow_phase(at, static_cast<uint32_t>(std::popcount(lanes)), access.size_bytes, banks,
                          lanes, is_atomic, cost))
      add_phase(access, banks, lanes, is_atomic, cost);
  }
  t_last.keep(access, banks, places, cost);
  return cost;
}

}  // namespace wavetap::emu
