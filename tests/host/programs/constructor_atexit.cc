// HIP calls before main and after it: constructor function, static object, atexit, static
// destructor.
#include <cstdlib>

#include "host.h"

namespace {

__attribute__((constructor(101))) void before_main() {
  host::say("constructor, device works: %d", host::use_device(1));
}

struct Static {
  Static() { host::say("static object, device works: %d", host::use_device(2)); }
  ~Static() {
    int count = 0;
    CALL(hipGetDeviceCount, &count);
    host::say("static destructor: %d devices", count);
    host::report();
  }
} g_static;

void after_main() {
  void* memory = nullptr;
  host::say("atexit: hipMalloc %d", CALL(hipMalloc, &memory, 4096));
  host::say("atexit: hipFree %d", CALL(hipFree, memory));
}

}  // namespace

int main() {
  std::atexit(after_main);
  host::say("main, device works: %d", host::use_device(3));
  return 3;
}
