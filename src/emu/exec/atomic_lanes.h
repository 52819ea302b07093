// Atomic operations of a wave's lanes on global memory, where all of them can be reached at once.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "emu/exec/atomics.h"
#include "emu/exec/global_access.h"
#include "emu/exec/lane_pattern.h"

namespace wavetap::emu {

// An operation of all lanes of `mask` at host + offset[lane], all mapped and aligned; `result` null:
// nobody wants the old values. In ascending order of lanes, as one by one; when all lanes have one
// address, they are one atomic operation together.
template <class A, int L>
void update_lanes(std::byte* host, const uint32_t* offset, uint64_t mask, const uint32_t* data,
                  uint32_t* result) {
  using U = typename A::Value;
  const int first = std::countr_zero(mask);
  uint32_t different = 0;
  if ((mask & (mask - 1)) != 0)
    for_lanes<L>(mask, [&](int lane) { different |= offset[lane] ^ offset[first]; });
  const auto operand = [&](int lane) { return atomic::read_operand<U>(data + lane, L); };
  const auto operand2 = [&](int lane) {
    return atomic::kOperands<A> == 2 ? atomic::read_operand<U>(data + sizeof(U) / 4 * L + lane, L)
                                     : U{0};
  };
  if (different == 0) {
    std::atomic_ref<U> ref(*reinterpret_cast<U*>(host + offset[first]));
    U before = ref.load(std::memory_order_relaxed);
    for (;;) {
      U value = before;
      for_lanes<L>(mask, [&](int lane) { value = A::next(value, operand(lane), operand2(lane)); });
      if (ref.compare_exchange_weak(before, value)) break;
    }
    if (result == nullptr) return;
    U value = before;
    for_lanes<L>(mask, [&](int lane) {
      // The operand first: the result may take its place.
      const U next = A::next(value, operand(lane), operand2(lane));
      atomic::write_result<U>(result + lane, L, value);
      value = next;
    });
    return;
  }
  // Lanes of one instruction are not ordered among themselves, so that one fence on each side gives
  // all of them the order that update_shared() gives each.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_lanes<L>(mask, [&](int lane) {
    const U old = atomic::update_unordered<A>(host + offset[lane], operand(lane), operand2(lane));
    if (result != nullptr) atomic::write_result<U>(result + lane, L, old);
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// The quick way of an atomic: all lanes lie in the cached range, aligned. False, and nothing done,
// otherwise. The caller has made sure that nobody watches.
template <class A, int L>
bool update_quickly(Wave& wave, const AddressRows& at, uint64_t mask, const uint32_t* data,
                    uint32_t* result) {
  using U = typename A::Value;
  if (at.low == nullptr) return false;
  std::byte* host = host_of_rows<sizeof(U), L>(wave, at, mask, /*write=*/true);
  if (host == nullptr) return false;
  const auto base = static_cast<uint32_t>(at.base);
  uint32_t misaligned = 0;
  for_lanes<L>(mask, [&](int lane) { misaligned |= base + at.low[lane]; });
  if (misaligned % sizeof(U) != 0) return false;
  update_lanes<A, L>(host, at.low, mask, data, result);
  return true;
}

}  // namespace wavetap::emu
