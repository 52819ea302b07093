// Several copies of the runtime in one process: one linked, which also answers a plugin that
// brought its own, because the loader looks in the global scope first; one opened by path and asked
// through dlsym.
#include <dlfcn.h>

#include "host.h"

namespace {

using GetVersion = hipError_t (*)(int*);

int version_of(GetVersion get) {
  int version = -1;
  host::counted("hipRuntimeGetVersion", get(&version));
  return version;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* other = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr || other == nullptr) {
    host::say("dlopen: %s", dlerror());
    return 1;
  }
  const auto through_plugin = reinterpret_cast<int (*)(int*)>(dlsym(plugin, "plugin_version"));
  const auto by_name = reinterpret_cast<GetVersion>(dlsym(other, "hipRuntimeGetVersion"));
  const auto by_default = reinterpret_cast<GetVersion>(dlsym(RTLD_DEFAULT, "hipRuntimeGetVersion"));
  for (int round = 0; round < 3; ++round) {
    host::say("linked: %d", version_of(hipRuntimeGetVersion));
    int version = -1;
    host::counted("hipRuntimeGetVersion", static_cast<hipError_t>(through_plugin(&version)));
    host::say("plugin: %d", version);
    host::say("dlsym of a handle: %d", version_of(by_name));
    host::say("dlsym of the default scope: %d", version_of(by_default));
  }
  host::say("missing function: %d", dlsym(other, "hipMemcpy3D") == nullptr);
  host::report();
  return 0;
}
