// A function of the runtime that calls another through its public name.
#include "host.h"

int main() {
  char from[64] = {}, to[64];
  for (int i = 0; i < 1000; ++i) {
    CALL(hipMemcpyWithStream, to, from, sizeof to, hipMemcpyHostToHost, nullptr);
    host::count("hipMemcpyAsync");  // made by the runtime, inside the first
  }
  host::report();
  return 0;
}
