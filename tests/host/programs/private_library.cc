// dlopen(RTLD_LOCAL) of a library that brings its own libamdhip64: the program itself is not linked
// with HIP, and no HIP symbol is ever in the global scope.
#include <dlfcn.h>

#include <cstring>

#include "host.h"

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
  for (int round = 0; round < 3; ++round) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      host::say("dlopen: %s", dlerror());
      return 1;
    }
    const auto use = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_use_device"));
    host::say("global hipMalloc: %s", dlsym(RTLD_DEFAULT, "hipMalloc") != nullptr ? "yes" : "no");
    host::say("plugin says %d", use());
    for (const char* name : {"hipMalloc", "hipMemset", "hipMemcpy", "hipFree"}) host::count(name);
    host::say("dlclose %d", dlclose(plugin));
  }
  host::report();
  return 0;
}
