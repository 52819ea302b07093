#include "emu/lds_banks.h"

#include <algorithm>
#include <bit>

namespace wavetap::emu {
namespace {

constexpr uint32_t kMaxBanks = 64;
constexpr uint32_t kMaxDwords = 5;  // an unaligned element of 16 bytes lies in five

// The order in which loads of 16 bytes take groups of four lanes: a phase is two of them.
constexpr uint8_t kWideLoadPair[8] = {5, 4, 7, 6, 1, 0, 3, 2};

uint32_t lanes_per_phase(uint32_t size_bytes, uint32_t banks) {
  const uint32_t lanes = size_bytes <= 4 ? 32 : size_bytes <= 8 ? 16 : 8;
  return lanes * (banks / 32);
}

// What one lane wants of one bank.
struct Wish {
  uint32_t bank;
  uint32_t dword;
  int lane;
};

// A phase in which lanes meet at a bank. `lanes` are its active ones.
void add_conflicts(const MemoryAccess& access, uint32_t banks, uint64_t lanes, LdsCost& cost) {
  Wish wishes[kMaxDwords * 64];
  Wish* end = wishes;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = static_cast<uint32_t>(access.address[lane]);
    for (uint32_t dword = at / 4; dword <= (at + access.size_bytes - 1) / 4; ++dword)
      *end++ = {dword % banks, dword, lane};
  }
  std::sort(wishes, end, [](const Wish& a, const Wish& b) {
    return a.bank != b.bank ? a.bank < b.bank : a.dword < b.dword;
  });
  const bool is_atomic = access.access == Access::kAtomic || access.access == Access::kAtomicReturn;
  uint32_t most_dwords = 1;
  uint32_t most_turns = 1;
  for (const Wish* first = wishes; first != end;) {
    const Wish* last = first;
    uint32_t dwords = 0;
    for (; last != end && last->bank == first->bank; ++last)
      if (last == first || last->dword != last[-1].dword) ++dwords;
    const auto turns = is_atomic ? static_cast<uint32_t>(last - first) : dwords;
    if (dwords > 1)
      for (const Wish* wish = first; wish != last; ++wish)
        cost.conflicting |= uint64_t{1} << wish->lane;
    if (dwords > cost.ways) cost.ways = dwords, cost.worst_bank = first->bank;
    most_dwords = std::max(most_dwords, dwords);
    most_turns = std::max(most_turns, turns);
    first = last;
  }
  cost.bank_conflicts += most_dwords - 1;
  cost.address_conflicts += most_turns - most_dwords;
}

// Whether no bank has to serve more than one dword, nor one dword twice for atomics.
bool is_free_of_conflicts(const MemoryAccess& access, uint32_t banks, uint64_t lanes,
                          bool is_atomic) {
  uint32_t served[kMaxBanks];
  uint64_t busy = 0;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto at = static_cast<uint32_t>(access.address[std::countr_zero(rest)]);
    for (uint32_t dword = at / 4; dword <= (at + access.size_bytes - 1) / 4; ++dword) {
      const uint32_t bank = dword % banks;
      const uint64_t bit = uint64_t{1} << bank;
      if ((busy & bit) != 0 && (is_atomic || served[bank] != dword)) return false;
      busy |= bit;
      served[bank] = dword;
    }
  }
  return true;
}

// The same for all phases of lanes in a relation, where it is plain to see; false: look closer.
bool is_plainly_free(const MemoryAccess& access, uint32_t banks, bool is_atomic) {
  const bool is_row = access.relation == Relation::kConsecutive;
  if (access.is_whole() && is_row)
    return access.address[0] % 4 == 0 && access.size_bytes <= 16 &&
           (!is_atomic || access.size_bytes % 4 == 0);
  if (is_atomic || banks != 32) return false;
  // Phases are of lanes of one half of the wave. Dwords that lie as close as there are banks are in
  // banks of their own.
  const uint64_t row_bytes = is_row ? kGroupLanes * uint64_t{access.size_bytes} : access.size_bytes;
  for (int group = 0; group < access.groups(); group += 2) {
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

LdsCost lds_cost(const MemoryAccess& access, uint32_t banks) {
  LdsCost cost;
  const bool is_load = access.access == Access::kLoad;
  const bool is_atomic = access.access == Access::kAtomic || access.access == Access::kAtomicReturn;
  if (access.relation != Relation::kNone && is_plainly_free(access, banks, is_atomic)) {
    const auto lanes = static_cast<uint32_t>(std::popcount(access.mask));
    cost.phases = std::max(1u, lanes / lanes_per_phase(access.size_bytes, banks));
    cost.ways = 1;
    cost.worst_bank = static_cast<uint32_t>(access.address[0] / 4) % banks;
    return cost;
  }
  for (uint64_t rest = access.mask; rest != 0;) {
    const uint64_t phase = lds_phase_of(std::countr_zero(rest), access.size_bytes, is_load, banks);
    const uint64_t lanes = access.mask & phase;
    rest &= ~phase;
    ++cost.phases;
    if (cost.ways == 0) {
      cost.ways = 1;
      cost.worst_bank = static_cast<uint32_t>(access.address[std::countr_zero(lanes)] / 4) % banks;
    }
    if (!is_free_of_conflicts(access, banks, lanes, is_atomic))
      add_conflicts(access, banks, lanes, cost);
  }
  return cost;
}

}  // namespace wavetap::emu
