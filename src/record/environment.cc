// Two ways to be loaded: by `wavetap run`, which names the session folder, or by hand with
// LD_PRELOAD or HSA_TOOLS_LIB. The latter follows the RPDT_ variables that users of RPD know: RPDT_FILENAME (default
// ./trace.rpd) is where the trace will be wanted, RPDT_AUTOSTART=0 waits for a start,
// RPDT_STACKFRAMES=1 records stacks; and LOGDUR_LOG_LOCATION, where users of logduration want
// durations. The folder is made beside that file when the first call is
// recorded, so a program that never uses the GPU leaves nothing.
#include "record/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string_view>

#include "format/capture_request.h"
#include "format/record.h"
#include "format/session.h"
#include "record/images.h"
#include "record/say.h"
#include "record/sys.h"

namespace wavetap::record {
namespace {

struct Option {
  std::string_view name;
  uint32_t bit;
};
constexpr Option kOptions[] = {
    {"args", format::kOptionArguments},    {"stacks", format::kOptionStacks},
    {"hsa", format::kOptionHsa},           {"barriers", format::kOptionBarriers},
    {"kernargs", format::kOptionKernargs},
};

void read_options(const char* text, Environment& environment) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view word(rest.data(), comma == std::string_view::npos ? rest.size() : comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (word == "paused") environment.paused = true;
    for (const Option& option : kOptions)
      if (word == option.name) environment.options |= option.bit;
  }
}

// Relative names mean the working directory of now; the program may change it.
bool make_absolute(const char* path, char (&out)[Session::kMaxPath]) {
  int length;
  if (path[0] == '/') {
    length = snprintf(out, sizeof out, "%s", path);
  } else {
    char here[Session::kMaxPath];
    if (getcwd(here, sizeof here) == nullptr) return false;
    length = snprintf(out, sizeof out, "%s/%s", here, path);
  }
  return length > 0 && static_cast<size_t>(length) < sizeof out - 64;
}

}  // namespace

void read_environment(Environment& environment) {
  environment = {};
  // A set-user-id program must not be made to write files for whoever started it.
  const char* const folder = secure_getenv(format::kSessionVariable);
  if (const char* const options = secure_getenv(format::kOptionsVariable))
    read_options(options, environment);
  environment.emulated = secure_getenv("WAVETAP_GPU_DIR") != nullptr;
  if (folder != nullptr && *folder != '\0') {
    environment.has_session = make_absolute(folder, environment.folder);
    return;
  }
  // `wavetap capture` needs the hooks and no trace.
  if (secure_getenv(format::kCaptureVariable) != nullptr) {
    environment.paused = true;
    return;
  }
  const char* const preload = secure_getenv("LD_PRELOAD");
  const bool is_preloaded = preload != nullptr && strstr(preload, "libwavetap.so") != nullptr;
  if (!is_preloaded && !is_users_tool()) {
    environment.paused = true;  // linked or opened by the program, which will say when
    environment.late = true;
  }
  const char* const name = secure_getenv("RPDT_FILENAME");
  if (!make_absolute(name != nullptr && *name != '\0' ? name : "trace.rpd", environment.output))
    environment.output[0] = '\0';
  if (const char* const start = secure_getenv("RPDT_AUTOSTART"))
    environment.paused = atoi(start) == 0;
  if (const char* const stacks = secure_getenv("RPDT_STACKFRAMES"))
    if (atoi(stacks) != 0) environment.options |= format::kOptionStacks;
}

const char* session_folder(Environment& environment, uint32_t pid) {
  if (environment.has_session) return environment.folder;
  if (environment.output[0] == '\0') return nullptr;
  const int length =
      snprintf(environment.folder, sizeof environment.folder, "%s.raw-%u", environment.output, pid);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof environment.folder) return nullptr;
  const int made = sys::make_directory(environment.folder, 0700);
  if (made != 0 && made != -EEXIST) {
    say("error: %s: %s; nothing is recorded", environment.folder, strerrordesc_np(-made));
    environment.output[0] = '\0';
    return nullptr;
  }
  return environment.folder;
}

void drop_session_folder(const Environment& environment) {
  if (!environment.has_session)
    sys::call(SYS_unlinkat, AT_FDCWD, environment.folder, AT_REMOVEDIR);  // if it is empty
}

bool is_users_tool() {
  const char* const tools = secure_getenv("HSA_TOOLS_LIB");
  return tools != nullptr && strstr(tools, "libwavetap.so") != nullptr &&
         secure_getenv(kNamedByLibrary) == nullptr;
}

void say_where(const Environment& environment) {
  if (environment.has_session || environment.output[0] == '\0') return;
  struct stat folder {};
  if (sys::call(SYS_newfstatat, AT_FDCWD, environment.folder, &folder, 0) != 0) return;
  const char* const durations = secure_getenv("LOGDUR_LOG_LOCATION");
  const bool wants_durations = durations != nullptr && *durations != '\0';
  say("recorded into %s; `wavetap import %s -o %s%s%s` makes the trace", environment.folder,
      environment.folder, environment.output, wants_durations ? " --durations " : "",
      wants_durations ? durations : "");
  // What wavetap run would have done for those who come from logduration.
  const char* const cache = secure_getenv("LOGDUR_KERNEL_CACHE");
  if (cache != nullptr && *cache != '\0' && secure_getenv("WAVETAP_SWAP") == nullptr)
    say("LOGDUR_KERNEL_CACHE=%s is not used without wavetap run; `wavetap swap list %s --table FILE` and "
        "WAVETAP_SWAP=FILE do it",
        cache, cache);
}

bool has_elder_copy() {
  const auto here = reinterpret_cast<uintptr_t>(&has_elder_copy);
  bool found = false;
  find_image([&](const Image& image) {
    if (image.contains(here)) return true;
    found = find_symbol(image, "wavetap_version") != nullptr;
    return found;
  });
  return found;
}

}  // namespace wavetap::record
