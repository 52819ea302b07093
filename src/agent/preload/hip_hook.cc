#include "agent/preload/hip_hook.h"

#include <string.h>

#include <atomic>

#include "agent/function_numbers.h"
#include "agent/preload/hip_watched.h"
#include "agent/real_functions.h"
#include "record/functions.h"
#include "record/stack.h"

namespace wavetap::agent {

#define WT_HIP(symbol, name, family, result, parameters, arguments, packed, layout, flags) \
  reinterpret_cast<void*>(&traced_##symbol),
void* g_targets[kHipCount] = {
#include "agent/hip_api.inc"
};
#undef WT_HIP

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

// begin_hook() where it has more to do than to open the record.
__attribute__((noinline)) void* begin_slowly(Hook& hook, uint32_t index, uint32_t flags,
                                             void* traced, const void* caller, const void* frame) {
  void* target = target_of(index);
  if (t_thread.target_index == index + 1) {
    target = t_thread.target;
    t_thread.target_index = 0;
    note_called(index);
  } else if (target == traced) {
    target = resolve(index, target, caller);
  }
  if (target == nullptr) return nullptr;
  uint32_t state = g_state.load(std::memory_order_relaxed);
  // Nothing was called yet, in this program or in this child of fork().
  if (state == 0) {
    ensure_started();
    state = g_state.load(std::memory_order_relaxed);
  }
  hook.what = 0;
  if ((state & kWatched) != 0)
    hook.what = Hook::kLookedAt | (record::enter_from(caller, frame) ? Hook::kFrom : 0);
  if ((flags & kUnrecorded) != 0 || (state & kRecording) == 0 ||
      !enter_call(hook.call, kFirstHipFunction + index))
    return target;
  hook.what |= Hook::kOpen;
  if ((state & kStacks) != 0) record::write_stack(hook.call, caller, frame);
  return target;
}

}  // namespace

// Calls nothing on its usual way, nor does the second half, so that they need no frame.
void* begin_hook(Hook& hook, uint32_t index, uint32_t flags, void* traced, const void* caller,
                 const void* frame) {
  void* const target = target_of(index);
  const uint32_t state = g_state.load(std::memory_order_relaxed);
  Stream* const s = t_thread.stream;
  if ((state & (kRecording | kWatched | kStacks)) != kRecording || target == traced ||
      target == nullptr || t_thread.target_index == index + 1 || s == nullptr ||
      t_thread.inside != 0 || (flags & kUnrecorded) != 0) [[unlikely]]
    return begin_slowly(hook, index, flags, traced, caller, frame);
  hook.what = Hook::kOpen;
  record::enter_call_on(s, hook.call, kFirstHipFunction + index);
  return target;
}

void end_hook(const Hook& hook, uint32_t index, int32_t code) {
  if (hook.is(Hook::kFrom)) [[unlikely]]
    record::leave_from();
  if (hook.is(Hook::kOpen)) leave_call(hook.call, kFirstHipFunction + index, code);
}

void end_hook_with(const Hook& hook, uint32_t index, int32_t code, const uint64_t* words,
                   size_t count) {
  if (count == 0) __builtin_unreachable();
  if (hook.is(Hook::kFrom)) [[unlikely]]
    record::leave_from();
  record::leave_call_with_words(hook.call, kFirstHipFunction + index, code, words, count);
}

bool is_being_captured(void* stream) {
  using Function = int32_t (*)(void* stream, void* status);
  const RealFunction real =
      find_real("hipStreamIsCapturing", Provider::kHip, __builtin_return_address(0));
  if (real.function == nullptr) return false;
  int32_t status = 0;  // hipStreamCaptureStatusNone
  return reinterpret_cast<Function>(real.function)(stream, &status) == 0 && status != 0;
}

}  // namespace wavetap::agent
