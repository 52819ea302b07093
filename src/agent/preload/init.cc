// What runs when libwavetap.so is loaded and when the program ends.
//
// A program that has nothing to do with the GPU (the shell, a compiler) only pays for looking at
// its list of libraries: the session is opened by the first hooked call, or here when the runtime
// is loaded already.
//
// The HSA runtime calls us (OnLoad) because HSA_TOOLS_LIB names us. `wavetap run` sets it; who preloads
// the library by hand need not know of it, so it is set here, before the runtime reads it.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <algorithm>
#include <string_view>

#include "agent/capture_request.h"
#include "agent/image_walk.h"
#include "agent/libraries.h"
#include "agent/preload/exit.h"
#include "agent/preload/hip.h"
#include "agent/real_functions.h"
#include "agent/recording.h"
#include "format/session.h"
#include "record/environment.h"

namespace wavetap::agent {
namespace {

bool uses_gpu() {
  return find_image([](const Image& image) {
    const std::string_view name = file_name_of(image);
    return name.starts_with("libamdhip64.so") || name.starts_with("libhsa-runtime64.so");
  });
}

constexpr char kToolsVariable[] = "HSA_TOOLS_LIB";

// Our own file; "" when its name cannot be told.
std::string_view own_path(char* buffer, size_t size) {
  const auto here = reinterpret_cast<uintptr_t>(&own_path);
  char* found = nullptr;
  find_image([&](const Image& image) {
    if (!image.contains(here)) return false;
    // Relative to a folder the program may leave.
    if (image.path[0] != '\0' && size >= PATH_MAX) found = realpath(image.path, buffer);
    return true;
  });
  return found == nullptr ? std::string_view() : std::string_view(found);
}

bool names_library(std::string_view list, std::string_view library) {
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(" :"), list.size());
    if (list.substr(0, end) == library) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Behind the tools that are named already; they see the runtime before us.
void name_as_tool() {
  char path[PATH_MAX];
  const std::string_view own = own_path(path, sizeof path);
  // The list has no way to name a file with these in it.
  if (own.empty() || own.find_first_of(" :") != std::string_view::npos) return;
  const char* const present = secure_getenv(kToolsVariable);
  if (getauxval(AT_SECURE) != 0 || (present != nullptr && names_library(present, own))) return;
  char list[2 * PATH_MAX];
  const bool alone = present == nullptr || *present == '\0';
  const int length = alone ? snprintf(list, sizeof list, "%s", path)
                           : snprintf(list, sizeof list, "%s %s", present, path);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof list) return;
  setenv(kToolsVariable, list, 1);
  setenv(record::kNamedByLibrary, "1", 1);
}

__attribute__((constructor)) void on_library_load() {
  g_library_is_ready.store(true, std::memory_order_relaxed);
  find_exit_functions();
  if (secure_getenv(format::kSessionVariable) == nullptr && !is_passive()) name_as_tool();
  start_capture_request();
  watch_libraries();
  if (uses_gpu()) ensure_started();
}

__attribute__((destructor)) void on_program_exit() { record::finish_process(); }

}  // namespace
}  // namespace wavetap::agent
