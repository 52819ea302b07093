// Functions of ours that lead to one particular copy of a library.
//
// The functions in hip.cc find out by their caller which library is meant. A function that was
// looked up in a library by name must lead to that library whoever calls it, so each library that
// is asked by name gets a set of functions of its own; four such libraries at a time.
#include "agent/preload/hip_copies.h"

#include <atomic>

#include "agent/image_walk.h"
#include "agent/preload/hip_table.h"

namespace wavetap::agent {
namespace {

constexpr uint32_t kCopies = 4;

void* g_functions[kCopies][kHipCount];
std::atomic<uintptr_t> g_bases[kCopies];  // 0: free

void* function_of(uint32_t copy, uint32_t index) {
  return __atomic_load_n(&g_functions[copy][index], __ATOMIC_RELAXED);
}

#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags)    \
  template <uint32_t kCopy>                                                              \
  WT_UNPACK R copy_of_##symbol parameters {                                              \
    using Function = WT_UNPACK R(*) parameters;                                          \
    constexpr uint32_t kIndex = kIndexOf_##symbol;                                       \
    void* const wt_target = function_of(kCopy, kIndex);                                  \
    if (!is_always_watched(kIndex) && g_state.load(std::memory_order_relaxed) == kReady) \
        [[likely]]                                                                       \
      return reinterpret_cast<Function>(wt_target) arguments;                            \
    t_thread.target = wt_target;                                                         \
    t_thread.target_index = kIndex + 1;                                                  \
    return traced_##symbol arguments;                                                    \
  }
#include "agent/hip_api.inc"
#undef WT_HIP

template <uint32_t kCopy>
void* wrapper_of(uint32_t index) {
  static void* const kWrappers[kHipCount] = {
#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags) \
  reinterpret_cast<void*>(&copy_of_##symbol<kCopy>),
#include "agent/hip_api.inc"
#undef WT_HIP
  };
  return kWrappers[index];
}

void* wrapper(uint32_t copy, uint32_t index) {
  switch (copy) {
    case 0: return wrapper_of<0>(index);
    case 1: return wrapper_of<1>(index);
    case 2: return wrapper_of<2>(index);
    default: return wrapper_of<3>(index);
  }
}
static_assert(kCopies == 4);

}  // namespace

void* hip_wrapper_for(const char* symbol, void* function) {
  const uint32_t index = hip_index(symbol);
  if (index == kNoHipFunction || function == nullptr) return function;
  uintptr_t base = 0;
  find_image([&](const Image& image) {
    if (!image.contains(reinterpret_cast<uintptr_t>(function))) return false;
    if (is_provider(image, kHipDescriptions[index].provider) &&
        find_symbol(image, symbol) == function)
      base = image.begin;
    return true;
  });
  if (base == 0) return function;
  for (uint32_t copy = 0; copy < kCopies; ++copy) {
    uintptr_t owner = 0;
    if (!g_bases[copy].compare_exchange_strong(owner, base, std::memory_order_acq_rel) &&
        owner != base)
      continue;
    __atomic_store_n(&g_functions[copy][index], function, __ATOMIC_RELEASE);
    return wrapper(copy, index);
  }
  return function;
}

void forget_hip_copies() {
  for (auto& base : g_bases) {
    const uintptr_t known = base.load(std::memory_order_acquire);
    if (known != 0 && !find_image([&](const Image& image) { return image.begin == known; }))
      base.store(0, std::memory_order_release);
  }
}

}  // namespace wavetap::agent
