// What a process may change about itself while it is recorded: working folder, umask, environment,
// errno.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "host.h"

int main() {
  host::use_device(1);
  host::say("chdir: %d", chdir("/"));
  umask(0777);
  clearenv();
  std::thread([] { host::use_device(2); }).join();
  host::say("umask: %o", umask(022));
  errno = 77;
  int device = -1;
  CALL(hipGetDevice, &device);
  host::say("errno: %d", errno);
  for (int i = 0; i < 3000; ++i) CALL(hipGetDevice, &device);
  host::report();
  return 0;
}
