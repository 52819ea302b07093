// One function of ours in front of every HIP and hipRTC function.
//
// Each symbol is an indirect function: the loader asks a resolver of ours whenever a library is
// bound to it. That is how we learn that a caller has appeared whose libamdhip64 may be another one
// than what we have kept as the real function so far; there is no other harmless way to be told
// (dlopen() must see its true caller, so it cannot be wrapped).
//
//   wrapped_X    state is kReady: jump to g_targets[X]           a load, a branch, a load, a jump
//                else: jump to traced_X
//   traced_X     finds the real function if need be, records the call (hip_hook.h)
//   g_targets[X] the real function once it is known to be the same for all callers, traced_X until then
//
// The resolvers may run before this library is relocated: they use nothing but addresses relative
// to themselves.
#include "agent/preload/hip.h"

#include <atomic>
#include <type_traits>

#include "agent/function_numbers.h"
#include "agent/preload/hip_copies.h"
#include "agent/preload/hip_hook.h"
#include "agent/preload/hip_table.h"
#include "agent/preload/hip_watched.h"
#include "agent/real_functions.h"
#include "agent/recording.h"
#include "record/layout.h"
#include "record/stack.h"

// Runs before any sanitizer is ready (CMakeLists.txt).
#define WT_RESOLVER __attribute__((visibility("hidden")))
#define WT_MORE(...) __VA_OPT__(, ) __VA_ARGS__

namespace wavetap::agent {

// What the rows of hip_api.inc put arguments into.
using record::Behind;
using record::Bytes;
using record::CString;
using record::Out;
using record::Three;
using record::Word;

namespace {

// ---- the hook ----------------------------------------------------------------------------------

template <class R>
R missing(Provider provider) {
  if constexpr (std::is_same_v<R, int32_t>)
    return provider == Provider::kHiprtc ? kHiprtcErrorInternal : kHipErrorNotSupported;
  else if constexpr (!std::is_void_v<R>) return R{};
}

template <class R>
int32_t result_code(const R& result) {
  if constexpr (std::is_pointer_v<R>)
    return static_cast<int32_t>(reinterpret_cast<uintptr_t>(result));
  else if constexpr (std::is_integral_v<R>) return static_cast<int32_t>(result);
  else return 0;
}

inline void harvest() {
  if (void (*const collect)() = g_harvest) collect();
}

template <class... A>
[[gnu::always_inline]] inline void end_with(const Hook& hook, uint32_t index, int32_t code,
                                            const A&... arguments) {
  if constexpr (sizeof...(A) == 0) {
    end_hook(hook, index, code);
  } else if constexpr ((std::is_same_v<A, CString> || ...)) {
    if (hook.is(Hook::kFrom)) [[unlikely]]
      record::leave_from();
    leave_call(hook.call, kFirstHipFunction + index, code, arguments...);
  } else {
    uint64_t all[(A::words() + ...)];
    record::Words words(all);
    (arguments.put(words), ...);
    end_hook_with(hook, index, code, all, sizeof all / sizeof all[0]);
  }
}

// `leave(hook, code, ok)` is the second half.
template <uint32_t kIndex, uint32_t kFlags, class R, class Function, class Leave, class... A>
[[gnu::always_inline]] inline R trace(Function traced, const void* caller, const void* frame,
                                      Leave leave, const A&... arguments) {
  Hook hook;
  void* const target =
      begin_hook(hook, kIndex, kFlags, reinterpret_cast<void*>(traced), caller, frame);
  if (target == nullptr) [[unlikely]]
    return missing<R>(kHipDescriptions[kIndex].provider);
  const auto real = [&](const auto&... values) -> R {
    const auto function = reinterpret_cast<Function>(target);
    if constexpr (Memory<kIndex>::kExists) {
      if (hook.is(Hook::kLookedAt) && are_allocations_wanted()) [[unlikely]]
        return Memory<kIndex>::call(function, values...);
    }
    return function(values...);
  };
  if constexpr (std::is_void_v<R>) {
    real(arguments...);
    leave(hook, 0, true);
    if constexpr (After<kIndex>::kExists) After<kIndex>::run(arguments...);
  } else {
    const R result = [&] {
      if constexpr (Tells<kIndex>::kExists) {
        if (hook.is(Hook::kOpen)) return Tells<kIndex>::call(real, arguments...);
      }
      return real(arguments...);
    }();
    const int32_t code = result_code(result);
    leave(hook, code, !std::is_same_v<R, int32_t> || code == 0);
    if constexpr ((kFlags & kBlocking) != 0) {
      if (hook.is(Hook::kOpen)) harvest();
    }
    if constexpr (After<kIndex>::kExists) After<kIndex>::run(result, arguments...);
    return result;
  }
}

}  // namespace

#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags)        \
  static_assert(After<kIndexOf_##symbol>::kExists == is_always_watched(kIndexOf_##symbol));  \
                                                                                             \
  __attribute__((noinline)) WT_UNPACK R traced_##symbol parameters {                         \
    const auto leave = [&](const Hook& wt_hook, int32_t wt_code, [[maybe_unused]] bool ok) { \
      if (keeps_arguments<flags>(wt_hook))                                                   \
        end_with(wt_hook, kIndexOf_##symbol, wt_code WT_MORE packed);                        \
      else end_hook(wt_hook, kIndexOf_##symbol, wt_code);                                    \
    };                                                                                       \
    return trace<kIndexOf_##symbol, flags, WT_UNPACK R>(                                     \
        &traced_##symbol, __builtin_return_address(0), __builtin_frame_address(0),           \
        leave WT_MORE arguments);                                                            \
  }                                                                                          \
                                                                                             \
  static WT_UNPACK R wrapped_##symbol parameters {                                           \
    using Function = WT_UNPACK R(*) parameters;                                              \
    if (!is_always_watched(kIndexOf_##symbol) &&                                             \
        g_state.load(std::memory_order_relaxed) == kReady) [[likely]]                        \
      return reinterpret_cast<Function>(target_of(kIndexOf_##symbol)) arguments;             \
    return traced_##symbol arguments;                                                        \
  }
#include "agent/hip_api.inc"
#undef WT_HIP

// ---- for the loader's hooks --------------------------------------------------------------------

constinit std::atomic<bool> g_library_is_ready{false};

void forget_hip_functions() {
  count_binding();
#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags) \
  set_target(kIndexOf_##symbol, reinterpret_cast<void*>(&traced_##symbol));
#include "agent/hip_api.inc"
#undef WT_HIP
  forget_hip_copies();
}

}  // namespace wavetap::agent

namespace wavetap::agent {
namespace {

// What a resolver answers: the wrapper, or one for whoever is being bound, where the caller would not tell. The latter not
// before this library is relocated and initialised; what the program is linked with cannot be in doubt anyway.
__attribute__((noinline)) void* bind(uint32_t index, void* traced, void* wrapped) {
  count_binding();
  set_target(index, traced);
  if (!g_library_is_ready.load(std::memory_order_relaxed)) return wrapped;
  const HipDescription& d = kHipDescriptions[index];
  void* const meant = find_real_while_binding(d.symbol, d.provider);
  if (meant == nullptr) return wrapped;
  void* const wrapper = hip_wrapper_for(d.symbol, meant);
  return wrapper == meant ? wrapped : wrapper;
}

}  // namespace
}  // namespace wavetap::agent

// ---- the symbols -------------------------------------------------------------------------------

#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags)              \
  extern "C" {                                                                                     \
  WT_RESOLVER decltype(&wavetap::agent::wrapped_##symbol) wt_bind_##symbol() {                     \
    using namespace wavetap::agent;                                                                \
    return reinterpret_cast<decltype(&wrapped_##symbol)>(                                          \
        bind(kIndexOf_##symbol, reinterpret_cast<void*>(&traced_##symbol),                         \
             reinterpret_cast<void*>(&wrapped_##symbol)));                                         \
  }                                                                                                \
  __attribute__((visibility("default"), ifunc("wt_bind_" #symbol))) WT_UNPACK R symbol parameters; \
  }
using wavetap::agent::Dim3;
using wavetap::agent::Opaque;
#include "agent/hip_api.inc"
#undef WT_HIP
