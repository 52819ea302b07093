// abort() and other deaths by a signal of the program's own making.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "host.h"

int main(int argc, char** argv) {
  host::say("device works: %d", host::use_device(2));
  host::report();
  const char* how = argc > 1 ? argv[1] : "abort";
  if (std::strcmp(how, "abort") == 0) std::abort();
  if (std::strcmp(how, "segv") == 0) {
    volatile int* volatile nowhere = nullptr;
    nowhere[4] = 1;
  }
  if (std::strcmp(how, "term") == 0) raise(SIGTERM);
  if (std::strcmp(how, "kill") == 0) raise(SIGKILL);
  return 1;
}
