#include "emu/count_access.h"

#include <algorithm>
#include <bit>

#include "emu/lds_banks.h"

namespace wavetap::emu {
namespace {

constexpr uint32_t kLineBytes = 64;

template <class F>
void for_each_bit(uint64_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

bool is_vector_global(const MemoryAccess& access) {
  return access.space == Space::kGlobal && !access.is_scalar && access.mask != 0;
}

// Writes the lines under an access's elements to `lines`; returns where they end. Elements are of 16
// bytes at most.
uint64_t* put_lines(const MemoryAccess& access, uint64_t* lines) {
  for_each_bit(access.mask, [&](int lane) {
    const uint64_t first = access.address[lane] / kLineBytes;
    const uint64_t last = (access.address[lane] + access.size_bytes - 1) / kLineBytes;
    *lines++ = first;
    if (last != first) *lines++ = last;
  });
  return lines;
}

uint64_t count_distinct(uint64_t* begin, uint64_t* end) {
  std::sort(begin, end);
  return static_cast<uint64_t>(std::unique(begin, end) - begin);
}

// Distinct lines under lanes in a relation: those of each group follow each other.
uint64_t count_group_lines(const MemoryAccess& access) {
  struct Lines {
    uint64_t first, last;
  };
  Lines lines[64 / kGroupLanes];
  const uint64_t row_bytes =
      uint64_t{access.size_bytes} * (access.relation == Relation::kConsecutive ? kGroupLanes : 1);
  const int count = access.groups();
  for (int i = 0; i < count; ++i) {
    const uint64_t at = access.address[i * kGroupLanes];
    lines[i] = {at / kLineBytes, (at + row_bytes - 1) / kLineBytes};
  }
  std::sort(lines, lines + count, [](const Lines& a, const Lines& b) { return a.first < b.first; });
  uint64_t sum = 0;
  uint64_t next = 0;  // beyond those that were counted
  for (int i = 0; i < count; ++i) {
    const uint64_t first = std::max(lines[i].first, next);
    if (lines[i].last < first) continue;
    sum += lines[i].last + 1 - first;
    next = lines[i].last + 1;
  }
  return sum;
}

// Distinct 64-byte lines under all elements in global memory.
uint64_t count_lines(std::span<const MemoryAccess> accesses) {
  if (accesses.size() == 1 && accesses[0].relation != Relation::kNone)
    return count_group_lines(accesses[0]);
  if (accesses.size() == 1) {
    uint64_t lines[2 * 64];
    return count_distinct(lines, put_lines(accesses[0], lines));
  }
  uint64_t lines[kMaxAccesses * 2 * 64];
  uint64_t* end = lines;
  for (const MemoryAccess& access : accesses)
    if (is_vector_global(access)) end = put_lines(access, end);
  return count_distinct(lines, end);
}

void add_bytes(Counters& counters, const MemoryAccess& access, amd::GfxTarget target) {
  const uint64_t bytes = access.bytes();
  if (access.is_scalar) {
    switch (access.access) {
      case Access::kLoad: counters.bytes_scalar += bytes; break;
      case Access::kStore: counters.bytes_scalar_store += bytes; break;
      case Access::kAtomic:
      case Access::kAtomicReturn: counters.bytes_scalar_atomic += bytes; break;
    }
    return;
  }
  switch (access.space) {
    case Space::kLds:
      counters.bytes_lds += bytes;
      if (lds_phases_if_free(access, lds_bank_count(target)) == 0)
        counters.lds_bank_conflicts += lds_cost(access, lds_bank_count(target)).bank_conflicts;
      break;
    case Space::kScratch: counters.bytes_scratch += bytes; break;
    case Space::kGlobal:
      switch (access.access) {
        case Access::kLoad: counters.bytes_global_load += bytes; break;
        case Access::kStore: counters.bytes_global_store += bytes; break;
        case Access::kAtomic:
        case Access::kAtomicReturn: counters.bytes_global_atomic += bytes; break;
      }
      break;
  }
}

}  // namespace

void count_accesses(Counters& counters, std::span<const MemoryAccess> accesses,
                    amd::GfxTarget target) {
  uint64_t global_bytes = 0;
  for (const MemoryAccess& access : accesses) {
    add_bytes(counters, access, target);
    if (is_vector_global(access)) global_bytes += access.bytes();
  }
  if (global_bytes == 0) return;
  counters.cache_lines += count_lines(accesses);
  counters.cache_lines_ideal += (global_bytes + kLineBytes - 1) / kLineBytes;
}

}  // namespace wavetap::emu
