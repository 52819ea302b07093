// Two plugins, each with a libamdhip64 of its own that nobody else can see; the program has none.
// Who answers depends on who asks.
#include <dlfcn.h>

#include "host.h"

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  int (*get_version[2])(int*) = {};
  for (int i = 0; i < 2; ++i) {
    void* plugin = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      host::say("dlopen: %s", dlerror());
      return 1;
    }
    get_version[i] = reinterpret_cast<int (*)(int*)>(dlsym(plugin, "plugin_version"));
  }
  for (int round = 0; round < 4; ++round) {
    int version = -1;
    host::counted("hipRuntimeGetVersion",
                  static_cast<hipError_t>(get_version[round % 2](&version)));
    host::say("plugin %d: version %d", round % 2, version);
  }
  host::report();
  return 0;
}
