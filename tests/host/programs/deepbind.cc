// A library that is opened RTLD_DEEPBIND finds libamdhip64 among its own dependencies, before it
// looks at anything that was preloaded.
#include <dlfcn.h>

#include <cstring>

#include "host.h"

int main(int argc, char** argv) {
  host::say("device works: %d", host::use_device(1));
  const bool lazily = argc > 2 && std::strcmp(argv[2], "lazily") == 0;
  void* plugin =
      dlopen(argc > 1 ? argv[1] : "", (lazily ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL | RTLD_DEEPBIND);
  if (plugin == nullptr) {
    host::say("dlopen: %s", dlerror());
    return 1;
  }
  host::say("plugin says %d", reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_use_device"))());
  host::say("dlclose %d", dlclose(plugin));
  host::report();
  return 0;
}
