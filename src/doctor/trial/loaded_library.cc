#include "doctor/trial/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

namespace wavetap::doctor::trial {

Library::Library(const std::vector<const char*>& names) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (handle_ != nullptr) return;
    // The first name is the one people know; its error is the one to show.
    if (error_.empty()) error_ = dlerror();
  }
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string Library::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return "";
  return map->l_name;
}

const Library& hip_library() {
  static const Library library({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"});
  return library;
}

const Library& hsa_library() {
  static const Library library({"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1"});
  return library;
}

const Library& cuda_library() {
  static const Library library({"libcuda.so.1"});
  return library;
}

}  // namespace wavetap::doctor::trial
