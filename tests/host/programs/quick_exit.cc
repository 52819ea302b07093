// _exit: no handlers, no destructors, memory and streams left as they are.
#include "host.h"

int main() {
  host::say("device works: %d", host::use_device(1));
  void* leaked = nullptr;
  CALL(hipMalloc, &leaked, 4096);
  host::report();
  _exit(5);
}
