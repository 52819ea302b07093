// A runtime that is really unloaded, something else mapped in its place, and another copy loaded
// after it: whatever the recorder remembered of the first must be forgotten.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "host.h"

namespace {

using GetVersion = hipError_t (*)(int*);
using Malloc = hipError_t (*)(void**, size_t);

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  for (int round = 0; round < 6; ++round) {
    void* runtime = dlopen(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
    if (runtime == nullptr) {
      host::say("dlopen: %s", dlerror());
      return 1;
    }
    const auto get_version = reinterpret_cast<GetVersion>(dlsym(runtime, "hipRuntimeGetVersion"));
    const auto allocate = reinterpret_cast<Malloc>(dlsym(runtime, "hipMalloc"));
    int version = -1;
    host::counted("hipRuntimeGetVersion", get_version(&version));
    void* memory = nullptr;
    host::counted("hipMalloc", allocate(&memory, 64));
    host::say("version %d, memory %d", version, memory != nullptr);
    struct link_map* map = nullptr;
    dlinfo(runtime, RTLD_DI_LINKMAP, &map);
    void* place = reinterpret_cast<void*>(map->l_addr);
    host::say("dlclose %d", dlclose(runtime));
    // Nothing may be left where the library was; what is put there must not be jumped into.
    void* mapped =
        mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    host::say("unloaded: %d", mapped == place);
  }
  host::report();
  return 0;
}
