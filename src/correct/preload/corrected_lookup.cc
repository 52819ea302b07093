// dlsym() in front of libc's, or of the recorder's. Programs that open a runtime themselves
// (Triton, Python's ctypes, CUDA's runtime library) ask it for the functions that tell device
// figures and would bypass our symbols; when the answer is one of a runtime, they get ours.
#include <dlfcn.h>

#include <cstring>
#include <initializer_list>

#include "base/choosing_entry.h"
#include "base/next_dlsym.h"
#include "correct/preload/corrected_functions.h"

namespace wavetap::correct {
namespace {

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
  const wavetap::Dlsym real = wavetap::next_dlsym();
  void* const ours = handle == RTLD_NEXT || handle == RTLD_DEFAULT || name == nullptr
                         ? nullptr
                         : corrected_function(name);
  if (ours == nullptr || real == nullptr) return {reinterpret_cast<void*>(real), nullptr};
  void* const found = real(handle, name);
  return {nullptr, found != nullptr && is_in_runtime(found) ? ours : found};
}

WT_ENTRY("dlsym", "wt_choose_dlsym");
