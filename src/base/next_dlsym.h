// dlsym() behind that of the library this is compiled into: libc's, or one of a library that was
// preloaded after it. Resolved once; resolving does not allocate.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace wavetap {

using Dlsym = void* (*)(void* handle, const char* name);

inline constinit std::atomic<void*> g_next_dlsym{nullptr};

// Null where libc is none we know.
inline Dlsym next_dlsym() {
  void* found = g_next_dlsym.load(std::memory_order_relaxed);
  if (found != nullptr) return reinterpret_cast<Dlsym>(found);
  // By version, which is libc's alone: without, ours would be asked for itself. The versions are those
  // since dlsym() moved to libc, and before.
  void* libc = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (libc == nullptr) libc = dlvsym(RTLD_NEXT, "dlsym", version);
  if (libc == nullptr) return nullptr;
  // Those of other preloaded libraries have none.
  found = reinterpret_cast<Dlsym>(libc)(RTLD_NEXT, "dlsym");
  if (found == nullptr) found = libc;
  g_next_dlsym.store(found, std::memory_order_relaxed);
  return reinterpret_cast<Dlsym>(found);
}

}  // namespace wavetap
