// What runs when libwavetap.so is loaded and when the program ends.
//
// A program that has nothing to do with the GPU (the shell, a compiler) only pays for looking at
// its list of libraries: the session is opened by the first hooked call, or here when the runtime
// is loaded already.
#include "agent/images.h"
#include "agent/preload/exit.h"
#include "agent/preload/hip.h"
#include "agent/recorder.h"
#include "agent/recorder_internal.h"

namespace wavetap::agent {
namespace {

bool uses_gpu() {
  return find_image([](const Image& image) {
    const std::string_view name = file_name_of(image);
    return name.starts_with("libamdhip64.so") || name.starts_with("libhsa-runtime64.so");
  });
}

__attribute__((constructor)) void on_library_load() {
  g_library_is_ready.store(true, std::memory_order_relaxed);
  find_exit_functions();
  if (uses_gpu()) ensure_started();
}

__attribute__((destructor)) void on_program_exit() { finish_process(); }

}  // namespace
}  // namespace wavetap::agent
