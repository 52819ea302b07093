// What the hooks of hip.cc have in common: the real functions, and the two halves of a call.
//
// The halves are the same code for every function. What a hook has of its own is how arguments are passed on and put down.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/preload/hip_table.h"
#include "agent/recording.h"

namespace wavetap::agent {

// The real function, see hip.cc.
extern void* g_targets[kHipCount] WT_HIDDEN;

[[gnu::always_inline]] inline void* target_of(uint32_t index) {
  return __atomic_load_n(&g_targets[index], __ATOMIC_RELAXED);
}
// Sequentially consistent, see resolve().
[[gnu::always_inline]] inline void set_target(uint32_t index, void* function) {
  __atomic_store_n(&g_targets[index], function, __ATOMIC_SEQ_CST);
}

// A call between its halves.
struct Hook {
  OpenCall call;
  uint32_t what;  // of the bits below

  static constexpr uint32_t kOpen = 1;      // `call` is to be recorded
  static constexpr uint32_t kFrom = 2;      // leave_from() is owed
  static constexpr uint32_t kLookedAt = 4;  // kWatched was set
  bool is(uint32_t bit) const { return (what & bit) != 0; }
};

// The first half. The real function; null when there is none, and then there is no second half. `traced`: what stands in
// g_targets until the real function is settled.
void* begin_hook(Hook& hook, uint32_t index, uint32_t flags, void* traced, const void* caller,
                 const void* frame);

template <uint32_t kFlags>
[[gnu::always_inline]] inline bool keeps_arguments(const Hook& hook) {
  if constexpr ((kFlags & kEssential) != 0) return __builtin_expect(hook.is(Hook::kOpen), true);
  return hook.is(Hook::kOpen) && (g_state.load(std::memory_order_relaxed) & kArguments) != 0;
}

// The second half ...
void end_hook(const Hook& hook, uint32_t index, int32_t code);
// ... of a call that keeps its arguments, of which there are some.
void end_hook_with(const Hook& hook, uint32_t index, int32_t code, const uint64_t* words,
                   size_t count);

}  // namespace wavetap::agent
