// dlsym(), dlvsym() and dlclose() in front of libc's.
//
// Programs that open libamdhip64 themselves (Python packages, Triton, CuPy) ask dlsym() for its
// functions and would bypass our symbols. When the answer is a function of HIP or roctx that we
// stand in front of, they get ours.
//
// For every other name the call goes to the real function with its caller unchanged: what RTLD_NEXT
// and RTLD_DEFAULT mean depends on the return address (base/choosing_entry.h).
//
// dlopen() is only looked at for the same reason: what it opens for everybody to see matters to
// find_real(), and what it opens RTLD_DEEPBIND may call HIP past us. We learn of new libraries when
// they are bound to our symbols (hip.cc) and from the helper thread. After dlclose() everything
// that was found in libraries is looked up again.
#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <cstdint>

#include "agent/deepbind.h"
#include "agent/image_walk.h"
#include "agent/libraries.h"
#include "agent/preload/hip.h"
#include "agent/preload/hip_copies.h"
#include "agent/preload/hip_table.h"
#include "agent/preload/markers.h"
#include "agent/real_functions.h"
#include "agent/recording.h"
#include "base/choosing_entry.h"

namespace wavetap::agent {
namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);
using Dlclose = int (*)(void*);

std::atomic<void*> g_dlsym{nullptr};
std::atomic<void*> g_dlvsym{nullptr};
std::atomic<void*> g_dlopen{nullptr};
std::atomic<void*> g_dlclose{nullptr};

void* next(std::atomic<void*>& cached, const char* name) {
  void* found = cached.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = find_next(name);
    cached.store(found, std::memory_order_relaxed);
  }
  return found;
}

bool may_be_ours(const char* name) {
  if (name == nullptr) return false;
  if (name[0] == 'h') return name[1] == 'i' && name[2] == 'p';
  if (name[0] == 'r') return strncmp(name, "roctx", 5) == 0;
  return name[0] == '_' && (strncmp(name, "__hip", 5) == 0 || strncmp(name, "_Z", 2) == 0);
}

// Ours for what the real dlsym() found in an explicitly given library.
void* replace(const char* name, void* found) {
  if (found == nullptr) return nullptr;
  if (is_marker_symbol(name)) {
    if (!is_in_provider(Provider::kRoctx, found)) return found;
    forget_marker_functions();
    const auto real = reinterpret_cast<Dlsym>(next(g_dlsym, "dlsym"));
    void* const ours = real(RTLD_DEFAULT, name);
    return ours != nullptr ? ours : found;
  }
  return hip_wrapper_for(name, found);
}

// The search would find our own symbol, whether or not there is a function for it to stand in front
// of: in the global scope, or among what the caller itself depends on. A runtime that was opened
// RTLD_LOCAL by somebody else is in neither.
bool would_be_found(const char* name, const void* caller, Dlsym real) {
  const uint32_t index = hip_index(name);
  if (index == kNoHipFunction && !is_marker_symbol(name)) return true;
  if (real(RTLD_NEXT, name) != nullptr) return true;
  return depends_on_real(
      name, index != kNoHipFunction ? kHipDescriptions[index].provider : Provider::kRoctx, caller);
}

}  // namespace
}  // namespace wavetap::agent

using namespace wavetap::agent;

using wavetap::Choice;

extern "C" {

__attribute__((used, visibility("hidden"))) Choice wt_choose_dlsym(void* handle, const char* name,
                                                                   const char*,
                                                                   const void* caller) {
  void* const real = next(g_dlsym, "dlsym");
  if (handle == RTLD_NEXT || !may_be_ours(name) || t_thread.inside != 0 || is_passive())
    return {real, nullptr};
  const Inside inside;
  if (handle == RTLD_DEFAULT) {
    if (would_be_found(name, caller, reinterpret_cast<Dlsym>(real))) return {real, nullptr};
    // As without us: not found, with the loader's message.
    return {nullptr, reinterpret_cast<Dlsym>(real)(RTLD_NEXT, name)};
  }
  return {nullptr, replace(name, reinterpret_cast<Dlsym>(real)(handle, name))};
}

__attribute__((used, visibility("hidden"))) Choice wt_choose_dlvsym(void* handle, const char* name,
                                                                    const char* version,
                                                                    const void*) {
  void* const real = next(g_dlvsym, "dlvsym");
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !may_be_ours(name) || t_thread.inside != 0 ||
      is_passive())
    return {real, nullptr};
  const Inside inside;
  return {nullptr, replace(name, reinterpret_cast<Dlvsym>(real)(handle, name, version))};
}

__attribute__((used, visibility("hidden"))) Choice wt_choose_dlopen(const char* name,
                                                                    uintptr_t mode, const char*,
                                                                    const void*) {
  if (name != nullptr && (mode & (RTLD_GLOBAL | RTLD_DEEPBIND)) != 0 && t_thread.inside == 0 &&
      !is_passive()) {
    if ((mode & RTLD_GLOBAL) != 0) note_global_library(name);
    if ((mode & RTLD_DEEPBIND) != 0) note_deepbind_library(name);
  }
  return {next(g_dlopen, "dlopen"), nullptr};
}

__attribute__((visibility("default"))) int dlclose(void* handle) {
  const auto real = reinterpret_cast<Dlclose>(next(g_dlclose, "dlclose"));
  if (is_passive()) return real(handle);
  // The last chance to look at a library whose calls we may have missed.
  if (has_deepbind_libraries() && t_thread.inside == 0) write_library_changes();
  const ImageCounts before = image_counts();
  const int result = real(handle);
  if (image_counts().subs != before.subs) {
    forget_hip_functions();
    forget_marker_functions();
  }
  return result;
}

}  // extern "C"

WT_ENTRY("dlsym", "wt_choose_dlsym");
WT_ENTRY("dlvsym", "wt_choose_dlvsym");
WT_ENTRY("dlopen", "wt_choose_dlopen");
