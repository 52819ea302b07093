// Makes as many calls as the next line of its standard input says, then answers; for tests that
// start and stop recording from outside.
#include <cstdio>
#include <cstdlib>

#include "host.h"

int main() {
  host::say("pid %d", getpid());
  char line[32];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    for (int i = 0; i < std::atoi(line); ++i) {
      int device;
      (void)hipGetDevice(&device);
    }
    host::say("done");
  }
  return 0;
}
