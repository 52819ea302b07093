// Atomic operations of a wave's lanes on global memory, where all of them can be reached at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/exec/atomic_table.h"
#include "emu/exec/global_access.h"
#include "emu/exec/lane_pattern.h"

namespace wavetap::emu {

// The host's address to which `at.low` is to be added, when all lanes lie in the cached range,
// aligned; else null.
template <uint32_t kBytes, int L>
[[gnu::noinline]] std::byte* aligned_host_of_rows(const Wave& wave, const AddressRows& at,
                                                  uint64_t mask) {
  std::byte* host = host_of_rows<kBytes, L>(wave, at, mask, /*write=*/true);
  if (host == nullptr) return nullptr;
  const auto base = static_cast<uint32_t>(at.base);
  uint32_t misaligned = 0;
  for_lanes<L>(mask, [&](int lane) { misaligned |= base + at.low[lane]; });
  return misaligned % kBytes == 0 ? host : nullptr;
}

// The quick way of an atomic: all lanes lie in the cached range, aligned. False, and nothing done,
// otherwise. The caller has made sure that nobody watches.
template <int L>
bool update_quickly(Wave& wave, const AtomicOp& op, const AddressRows& at, uint64_t mask,
                    const uint32_t* data, uint32_t* result) {
  if (at.low == nullptr) return false;
  std::byte* host = op.size_bytes == 8 ? aligned_host_of_rows<8, L>(wave, at, mask)
                                       : aligned_host_of_rows<4, L>(wave, at, mask);
  if (host == nullptr) return false;
  op.update_lanes<L>()(host, at.low, mask, data, result);
  return true;
}

// The registers of an atomic: where the old value goes, or null, and where the operands are.
struct AtomicRows {
  const uint32_t* data = nullptr;
  uint32_t* result = nullptr;
};
inline AtomicRows atomic_rows(Wave& wave, const isa::Inst& inst) {
  return {data_rows(wave, inst.src[0]),
          inst.dst.is(isa::OperandKind::kNone) ? nullptr : data_rows(wave, inst.dst)};
}

}  // namespace wavetap::emu
