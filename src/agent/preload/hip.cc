// One function of ours in front of every HIP and hipRTC function.
//
// Each symbol is an indirect function: the loader asks a resolver of ours whenever a library is
// bound to it. That is how we learn that a caller has appeared whose libamdhip64 may be another one
// than what we have kept as the real function so far; there is no other harmless way to be told
// (dlopen() must see its true caller, so it cannot be wrapped).
//
//   wrapped_X    state is kReady: jump to g_targets[X]           a load, a branch, a load, a jump
//                else: jump to traced_X
//   traced_X     finds the real function if need be, records the call
//   g_targets[X] the real function once it is known to be the same for all callers, traced_X until then
//
// The resolvers may run before this library is relocated: they use nothing but addresses relative
// to themselves.
#include "agent/preload/hip.h"

#include <string.h>

#include <atomic>
#include <type_traits>

#include "agent/function_numbers.h"
#include "agent/preload/hip_copies.h"
#include "agent/preload/hip_table.h"
#include "agent/preload/hip_watched.h"
#include "agent/real_functions.h"
#include "agent/recording.h"
#include "record/functions.h"
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

// A FunctionFact is written per session and function, when the function is first called.
enum class Called : uint8_t { kNever, kSaying, kSaid };
std::atomic<Called> g_called[kHipCount];

void write_function(uint32_t index) {
  const HipDescription& d = kHipDescriptions[index];
  record::write_function_fact(
      d.provider == Provider::kHiprtc ? format::Api::kHiprtc : format::Api::kHip,
      kFirstHipFunction + index, d.result_type, d.name, d.layout);
}

void write_known_functions() {
  for (uint32_t i = 0; i < kHipCount; ++i)
    if (g_called[i].load(std::memory_order_relaxed) != Called::kNever) write_function(i);
}

constexpr record::FunctionFamily kFamily = {
    kFirstHipFunction, kHipCount, [](uint32_t index) { return kHipDescriptions[index].name; }};

// ---- the real functions ------------------------------------------------------------------------

#define WT_HIP(symbol, name, family, result, parameters, arguments, packed, layout, flags) \
  reinterpret_cast<void*>(&traced_##symbol),
void* g_targets[kHipCount] = {
#include "agent/hip_api.inc"
};
#undef WT_HIP

[[gnu::always_inline]] inline void* target_of(uint32_t index) {
  return __atomic_load_n(&g_targets[index], __ATOMIC_RELAXED);
}
// Sequentially consistent, see resolve().
[[gnu::always_inline]] inline void set_target(uint32_t index, void* function) {
  __atomic_store_n(&g_targets[index], function, __ATOMIC_SEQ_CST);
}

// With several libraries of one name: what was found for a call site.
struct CallSite {
  std::atomic<uint64_t> key{0};
  std::atomic<void*> target{nullptr};
};
constexpr size_t kCallSites = 4096;
CallSite g_call_sites[kCallSites];

uint64_t key_of(uint32_t index, const void* caller, uint64_t epoch) {
  return (reinterpret_cast<uintptr_t>(caller) * 0x9e3779b97f4a7c15u) ^ (uint64_t{index} << 48) ^
         epoch * 0xff51afd7ed558ccdu;
}

void note_called(uint32_t index) {
  ensure_started();
  if (g_called[index].load(std::memory_order_acquire) == Called::kSaid) return;
  // A session that begins now says it as well.
  Called before = Called::kNever;
  if (g_called[index].compare_exchange_strong(before, Called::kSaying, std::memory_order_relaxed)) {
    const bool registers = strncmp(kHipDescriptions[index].symbol, "__hip", 5) == 0;
    if (kHipDescriptions[index].provider == Provider::kHip && !registers)
      g_hip_was_called.store(true, std::memory_order_relaxed);
    record::add_function_family(&kFamily);
    add_fact_source(write_known_functions);
  }
  // Also by a thread that comes while another one is about to: its call, which may be over before,
  // would have no name if the program were killed then. Twice does no harm.
  write_function(index);
  g_called[index].store(Called::kSaid, std::memory_order_release);
}

// Called for a function whose target is not settled. `traced`: what stands in g_targets until it
// is.
__attribute__((noinline)) void* resolve(uint32_t index, void* traced, const void* caller) {
  const uint64_t epoch = binding_epoch();
  const uint64_t key = key_of(index, caller, epoch);
  CallSite& site = g_call_sites[(key >> 20) % kCallSites];
  if (site.key.load(std::memory_order_acquire) == key) {
    void* const known = site.target.load(std::memory_order_acquire);
    if (site.key.load(std::memory_order_relaxed) == key && known != nullptr) return known;
  }
  note_called(index);
  const HipDescription& d = kHipDescriptions[index];
  const RealFunction real = find_real(d.symbol, d.provider, caller);
  if (real.for_everyone) {
    // Pairs with bind(): a binding that came after our look at the libraries undoes what we keep,
    // whichever of us writes last.
    set_target(index, real.function);
    if (binding_epoch() != epoch) set_target(index, traced);
  } else if (real.function != nullptr) {
    site.key.store(0, std::memory_order_relaxed);
    site.target.store(real.function, std::memory_order_release);
    site.key.store(key, std::memory_order_release);
  }
  return real.function;
}

}  // namespace

bool is_being_captured(void* stream) {
  using Function = int32_t (*)(void* stream, void* status);
  const RealFunction real =
      find_real("hipStreamIsCapturing", Provider::kHip, __builtin_return_address(0));
  if (real.function == nullptr) return false;
  int32_t status = 0;  // hipStreamCaptureStatusNone
  return reinterpret_cast<Function>(real.function)(stream, &status) == 0 && status != 0;
}

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

// `leave(call, code, ok)` writes the record.
template <uint32_t kIndex, uint32_t kFlags, class R, class Function, class Leave, class... A>
[[gnu::always_inline]] inline R trace(Function traced, const void* caller, const void* frame,
                                      Leave leave, const A&... arguments) {
  void* target = target_of(kIndex);
  if (t_thread.target_index == kIndex + 1) [[unlikely]] {
    target = t_thread.target;
    t_thread.target_index = 0;
    note_called(kIndex);
  } else if (target == reinterpret_cast<void*>(traced)) {
    target = resolve(kIndex, target, caller);
  }
  if (target == nullptr) return missing<R>(kHipDescriptions[kIndex].provider);
  uint32_t state = g_state.load(std::memory_order_relaxed);
  // Nothing was called yet, in this program or in this child of fork().
  if (state == 0) [[unlikely]] {
    ensure_started();
    state = g_state.load(std::memory_order_relaxed);
  }
  const auto real = [=](const auto&... values) -> R {
    const auto function = reinterpret_cast<Function>(target);
    if ((state & kWatched) != 0) [[unlikely]] {
      const record::CalledFrom here(caller, frame);
      if constexpr (Memory<kIndex>::kExists) {
        if (are_allocations_wanted()) return Memory<kIndex>::call(function, values...);
      }
      return function(values...);
    }
    return function(values...);
  };
  OpenCall call;
  if ((kFlags & kUnrecorded) != 0 || (state & kRecording) == 0 ||
      !enter_call(call, kFirstHipFunction + kIndex)) {
    if constexpr (!After<kIndex>::kExists) {
      return real(arguments...);
    } else if constexpr (std::is_void_v<R>) {
      real(arguments...);
      After<kIndex>::run(arguments...);
      return;
    } else {
      const R result = real(arguments...);
      After<kIndex>::run(result, arguments...);
      return result;
    }
  }
  if ((state & kStacks) != 0) [[unlikely]]
    record::write_stack(call, caller, frame);
  if constexpr (std::is_void_v<R>) {
    real(arguments...);
    leave(call, 0, true);
  } else {
    const R result = Tells<kIndex>::call(real, arguments...);
    const int32_t code = result_code(result);
    leave(call, code, !std::is_same_v<R, int32_t> || code == 0);
    if constexpr ((kFlags & kBlocking) != 0) harvest();
    if constexpr (After<kIndex>::kExists) After<kIndex>::run(result, arguments...);
    return result;
  }
}

}  // namespace

#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags)         \
  static_assert(After<kIndexOf_##symbol>::kExists == is_always_watched(kIndexOf_##symbol));   \
                                                                                              \
  __attribute__((noinline)) WT_UNPACK R traced_##symbol parameters {                          \
    const auto leave = [&](const OpenCall& call, int32_t wt_code, [[maybe_unused]] bool ok) { \
      if (((flags)&kEssential) != 0 ||                                                        \
          (g_state.load(std::memory_order_relaxed) & kArguments) != 0)                        \
        leave_call(call, kFirstHipFunction + kIndexOf_##symbol, wt_code WT_MORE packed);      \
      else leave_call(call, kFirstHipFunction + kIndexOf_##symbol, wt_code);                  \
    };                                                                                        \
    return trace<kIndexOf_##symbol, flags, WT_UNPACK R>(                                      \
        &traced_##symbol, __builtin_return_address(0), __builtin_frame_address(0),            \
        leave WT_MORE arguments);                                                             \
  }                                                                                           \
                                                                                              \
  static WT_UNPACK R wrapped_##symbol parameters {                                            \
    using Function = WT_UNPACK R(*) parameters;                                               \
    if (!is_always_watched(kIndexOf_##symbol) &&                                              \
        g_state.load(std::memory_order_relaxed) == kReady) [[likely]]                         \
      return reinterpret_cast<Function>(target_of(kIndexOf_##symbol)) arguments;              \
    return traced_##symbol arguments;                                                         \
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

// A wrapper for whoever is being bound, where the caller would not tell. Not before this library is
// relocated and initialised; what the program is linked with cannot be in doubt anyway.
__attribute__((noinline)) void* bound_wrapper(uint32_t index) {
  const HipDescription& d = kHipDescriptions[index];
  void* const meant = find_real_while_binding(d.symbol, d.provider);
  if (meant == nullptr) return nullptr;
  void* const wrapper = hip_wrapper_for(d.symbol, meant);
  return wrapper == meant ? nullptr : wrapper;
}

}  // namespace
}  // namespace wavetap::agent

// ---- the symbols -------------------------------------------------------------------------------

#define WT_HIP(symbol, name, family, R, parameters, arguments, packed, layout, flags)              \
  extern "C" {                                                                                     \
  WT_RESOLVER decltype(&wavetap::agent::wrapped_##symbol) wt_bind_##symbol() {                     \
    using namespace wavetap::agent;                                                                \
    count_binding();                                                                               \
    set_target(kIndexOf_##symbol, reinterpret_cast<void*>(&traced_##symbol));                      \
    if (g_library_is_ready.load(std::memory_order_relaxed))                                        \
      if (void* const meant = bound_wrapper(kIndexOf_##symbol))                                    \
        return reinterpret_cast<decltype(&wrapped_##symbol)>(meant);                               \
    return &wrapped_##symbol;                                                                      \
  }                                                                                                \
  __attribute__((visibility("default"), ifunc("wt_bind_" #symbol))) WT_UNPACK R symbol parameters; \
  }
using wavetap::agent::Dim3;
using wavetap::agent::Opaque;
#include "agent/hip_api.inc"
#undef WT_HIP
