// dlsym() in front of libc's, or of the recorder's. Programs that open a runtime themselves
// (Triton, Python's ctypes, CUDA's runtime library) ask it for the functions that tell device
// figures and would bypass our symbols; when the answer is one of a runtime, they get ours.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "base/choosing_entry.h"
#include "correct/preload/corrected_functions.h"

namespace wavetap::correct {
namespace {

std::atomic<void*> g_next{nullptr};

// Ours is the first; the versions are those of libc since dlsym() moved there, and before.
void* next_dlsym() {
  void* found = g_next.load(std::memory_order_relaxed);
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (found != nullptr) break;
    found = dlvsym(RTLD_NEXT, "dlsym", version);
  }
  g_next.store(found, std::memory_order_relaxed);
  return found;
}

// The recorder hands out functions of its own that lead to a runtime's.
bool is_in_runtime(void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const char* const name = slash == nullptr ? info.dli_fname : slash + 1;
  for (const char* stem : {"libamdhip64.so", "libcuda.so", "libcudart.so", "libwavetap.so"})
    if (std::strncmp(name, stem, std::strlen(stem)) == 0) return true;
  return false;
}

}  // namespace
}  // namespace wavetap::correct

using namespace wavetap::correct;

extern "C" __attribute__((used, visibility("hidden"))) wavetap::Choice wt_choose_dlsym(
    void* handle, const char* name, const char*, const void*) {
  void* const real = next_dlsym();
  void* const ours = handle == RTLD_NEXT || handle == RTLD_DEFAULT || name == nullptr
                         ? nullptr
                         : corrected_function(name);
  if (ours == nullptr || real == nullptr) return {real, nullptr};
  void* const found = reinterpret_cast<void* (*)(void*, const char*)>(real)(handle, name);
  return {nullptr, found != nullptr && is_in_runtime(found) ? ours : found};
}

WT_ENTRY("dlsym", "wt_choose_dlsym");
