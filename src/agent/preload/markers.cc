// Markers and control as programs call them: roctx, RPD's C functions, and wavetap.h.
//
// roctx calls are passed on to a real libroctx64 when one is loaded, so that another tool sees them
// and the program gets the values it would get without us; without one the values are the same by
// the rules of its interface. The symbols are indirect functions for the same reason as in hip.cc:
// a binding tells us that a library may have come.
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#define WAVETAP_WEAK __attribute__((visibility("default")))
#include <wavetap/wavetap.h>

#include "agent/preload/adopt.h"
#include "agent/preload/markers.h"
#include "agent/real_functions.h"
#include "agent/recording.h"
#include "record/markers.h"

#define WT_EXPORT extern "C" __attribute__((visibility("default")))
#define WT_RESOLVER __attribute__((visibility("hidden")))

namespace wavetap::agent {
namespace {

using format::MarkerKind;
using record::enter_range;
using record::leave_range;
using record::next_range;
using record::write_marker;

enum Roctx : uint32_t {
  kMarkA,
  kRangePushA,
  kRangePop,
  kRangeStartA,
  kRangeStop,
  kNameOsThread,
  kNameHsaAgent,
  kNameHipDevice,
  kNameHipStream,
  kGetThreadId,
  kProfilerPause,
  kProfilerResume,
  kVersionMajor,
  kVersionMinor,
  kRoctxCount
};

constexpr const char* kSymbols[kRoctxCount] = {
    "roctxMarkA",          "roctxRangePushA",    "roctxRangePop",      "roctxRangeStartA",
    "roctxRangeStop",      "roctxNameOsThread",  "roctxNameHsaAgent",  "roctxNameHipDevice",
    "roctxNameHipStream",  "roctxGetThreadId",   "roctxProfilerPause", "roctxProfilerResume",
    "roctx_version_major", "roctx_version_minor"};

// What stands behind a symbol: kUnknown until looked up, null when there is none.
void* const kUnknown = reinterpret_cast<void*>(1);
void* g_real[kRoctxCount] = {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown,
                             kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};

[[gnu::always_inline]] inline void forget(uint32_t index) {
  __atomic_store_n(&g_real[index], kUnknown, __ATOMIC_SEQ_CST);
}

template <class Function>
Function real(Roctx index, const void* caller) {
  void* found = __atomic_load_n(&g_real[index], __ATOMIC_RELAXED);
  if (found == kUnknown) {
    const uint64_t epoch = binding_epoch();
    found = find_real(kSymbols[index], Provider::kRoctx, caller).function;
    __atomic_store_n(&g_real[index], found, __ATOMIC_SEQ_CST);
    if (binding_epoch() != epoch) forget(index);
  }
  return reinterpret_cast<Function>(found);
}

#define WT_REAL(index, type) real<type>(index, __builtin_return_address(0))

// The agent's own thread of thought must not show up as markers.
bool wanted() { return t_thread.inside == 0; }

uint32_t own_pid() { return sys::pid(); }

// ---- roctx -------------------------------------------------------------------------------------

void mark(const char* message) {
  if (wanted()) write_marker(MarkerKind::kInstant, 0, message, nullptr, nullptr);
  if (const auto next = WT_REAL(kMarkA, void (*)(const char*))) next(message);
}

int range_push(const char* message) {
  if (wanted()) write_marker(MarkerKind::kPush, 0, message, nullptr, nullptr);
  const int depth = enter_range();
  const auto next = WT_REAL(kRangePushA, int (*)(const char*));
  return next != nullptr ? next(message) : depth;
}

int range_pop() {
  if (wanted()) write_marker(MarkerKind::kPop, 0, nullptr, nullptr, nullptr);
  const int depth = leave_range();
  const auto next = WT_REAL(kRangePop, int (*)());
  return next != nullptr ? next() : depth;
}

uint64_t range_start(const char* message) {
  const auto next = WT_REAL(kRangeStartA, uint64_t(*)(const char*));
  const uint64_t range = next != nullptr ? next(message) : next_range();
  if (wanted()) write_marker(MarkerKind::kStart, range, message, nullptr, nullptr);
  return range;
}

void range_stop(uint64_t range) {
  if (wanted()) write_marker(MarkerKind::kStop, range, nullptr, nullptr, nullptr);
  if (const auto next = WT_REAL(kRangeStop, void (*)(uint64_t))) next(range);
}

// ROCm 6 and later. Names go to whoever else listens; a thread's name is known from the system.
int name_os_thread(const char* name) {
  const auto next = WT_REAL(kNameOsThread, int (*)(const char*));
  return next != nullptr ? next(name) : 0;
}
int name_hsa_agent(const char* name, const void* agent) {
  const auto next = WT_REAL(kNameHsaAgent, int (*)(const char*, const void*));
  return next != nullptr ? next(name, agent) : 0;
}
int name_hip_device(const char* name, int device) {
  const auto next = WT_REAL(kNameHipDevice, int (*)(const char*, int));
  return next != nullptr ? next(name, device) : 0;
}
int name_hip_stream(const char* name, const void* stream) {
  const auto next = WT_REAL(kNameHipStream, int (*)(const char*, const void*));
  return next != nullptr ? next(name, stream) : 0;
}
int get_thread_id(uint64_t* id) {
  const auto next = WT_REAL(kGetThreadId, int (*)(uint64_t*));
  if (next != nullptr) return next(id);
  if (id != nullptr) *id = sys::tid();
  return 0;
}
int profiler_pause(uint64_t thread) {
  record::stop_recording(own_pid());
  const auto next = WT_REAL(kProfilerPause, int (*)(uint64_t));
  return next != nullptr ? next(thread) : 0;
}
int profiler_resume(uint64_t thread) {
  record::start_recording(own_pid());
  const auto next = WT_REAL(kProfilerResume, int (*)(uint64_t));
  return next != nullptr ? next(thread) : 0;
}
uint32_t version_major() {
  const auto next = WT_REAL(kVersionMajor, uint32_t(*)());
  return next != nullptr ? next() : 4;
}
uint32_t version_minor() {
  const auto next = WT_REAL(kVersionMinor, uint32_t(*)());
  return next != nullptr ? next() : 1;
}

}  // namespace

bool is_marker_symbol(const char* symbol) {
  for (const char* const known : kSymbols)
    if (strcmp(known, symbol) == 0) return true;
  return false;
}

void forget_marker_functions() {
  count_binding();
  for (uint32_t i = 0; i < kRoctxCount; ++i) forget(i);
}

}  // namespace wavetap::agent

#define WT_ROCTX(symbol, function, index)                                               \
  extern "C" {                                                                          \
  WT_RESOLVER decltype(&wavetap::agent::function) wt_bind_##symbol() {                  \
    wavetap::agent::count_binding();                                                    \
    wavetap::agent::forget(wavetap::agent::index);                                      \
    return &wavetap::agent::function;                                                   \
  }                                                                                     \
  __attribute__((visibility("default"),                                                 \
                 ifunc("wt_bind_" #symbol))) decltype(wavetap::agent::function) symbol; \
  }
WT_ROCTX(roctxMarkA, mark, kMarkA)
WT_ROCTX(roctxRangePushA, range_push, kRangePushA)
WT_ROCTX(roctxRangePop, range_pop, kRangePop)
WT_ROCTX(roctxRangeStartA, range_start, kRangeStartA)
WT_ROCTX(roctxRangeStop, range_stop, kRangeStop)
WT_ROCTX(roctxNameOsThread, name_os_thread, kNameOsThread)
WT_ROCTX(roctxNameHsaAgent, name_hsa_agent, kNameHsaAgent)
WT_ROCTX(roctxNameHipDevice, name_hip_device, kNameHipDevice)
WT_ROCTX(roctxNameHipStream, name_hip_stream, kNameHipStream)
WT_ROCTX(roctxGetThreadId, get_thread_id, kGetThreadId)
WT_ROCTX(roctxProfilerPause, profiler_pause, kProfilerPause)
WT_ROCTX(roctxProfilerResume, profiler_resume, kProfilerResume)
WT_ROCTX(roctx_version_major, version_major, kVersionMajor)
WT_ROCTX(roctx_version_minor, version_minor, kVersionMinor)

// ---- wavetap.h ---------------------------------------------------------------------------------

using wavetap::agent::own_pid;
using wavetap::format::MarkerKind;
using wavetap::record::write_marker;

WT_EXPORT const char* wavetap_version() { return WAVETAP_VERSION; }
WT_EXPORT int wavetap_start() {
  wavetap::agent::ensure_started();
  wavetap::agent::adopt_early_callers();
  return static_cast<int>(wavetap::record::start_recording(own_pid()));
}
WT_EXPORT int wavetap_stop() {
  return static_cast<int>(wavetap::record::stop_recording(own_pid()));
}
WT_EXPORT int wavetap_is_recording() {
  wavetap::agent::ensure_started();
  wavetap::agent::adopt_early_callers();
  return wavetap::agent::recording() ? 1 : 0;
}
WT_EXPORT void wavetap_flush() { wavetap::record::flush_recording(own_pid()); }

WT_EXPORT int wavetap_range_push_in(const char* domain, const char* category, const char* message) {
  write_marker(MarkerKind::kPush, 0, message, domain, category);
  return wavetap::record::enter_range();
}
WT_EXPORT int wavetap_range_push(const char* message) {
  return wavetap_range_push_in(nullptr, nullptr, message);
}
WT_EXPORT int wavetap_range_pop() {
  write_marker(MarkerKind::kPop, 0, nullptr, nullptr, nullptr);
  return wavetap::record::leave_range();
}
WT_EXPORT uint64_t wavetap_range_start_in(const char* domain, const char* category,
                                          const char* message) {
  // Apart from the small numbers of roctx.
  const uint64_t range = wavetap::record::next_range() | uint64_t{1} << 63;
  write_marker(MarkerKind::kStart, range, message, domain, category);
  return range;
}
WT_EXPORT uint64_t wavetap_range_start(const char* message) {
  return wavetap_range_start_in(nullptr, nullptr, message);
}
WT_EXPORT void wavetap_range_stop(uint64_t range) {
  write_marker(MarkerKind::kStop, range, nullptr, nullptr, nullptr);
}
WT_EXPORT void wavetap_mark_in(const char* domain, const char* category, const char* message) {
  write_marker(MarkerKind::kInstant, 0, message, domain, category);
}
WT_EXPORT void wavetap_mark(const char* message) { wavetap_mark_in(nullptr, nullptr, message); }

// ---- what programs written for RPD call --------------------------------------------------------

WT_EXPORT void rpdstart() { wavetap_start(); }
WT_EXPORT void rpdstop() { wavetap_stop(); }
WT_EXPORT void rpdflush() { wavetap_flush(); }
WT_EXPORT void rpd_rangePush(const char* domain, const char* api, const char* arguments) {
  write_marker(MarkerKind::kPush, 0, arguments, domain, api, wavetap::format::kMarkerNamed);
  wavetap::record::enter_range();
}
WT_EXPORT void rpd_rangePop() { wavetap_range_pop(); }
WT_EXPORT void rpd_mark(const char* domain, const char* api, const char* arguments) {
  write_marker(MarkerKind::kInstant, 0, arguments, domain, api, wavetap::format::kMarkerNamed);
}

#undef WT_EXPORT
