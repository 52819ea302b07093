// fork without exec, before the runtime starts: parent, child and grandchild each use HIP.
#include <sys/wait.h>

#include <cstdlib>

#include "host.h"

namespace {

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

int main() {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      host::say("grandchild, device works: %d", host::use_device(5));
      host::report();
      _exit(21);
    }
    host::say("grandchild left with %d", status_of(grandchild));
    host::say("child, device works: %d", host::use_device(4));
    host::report();
    std::exit(20);
  }
  host::say("child left with %d", status_of(child));
  host::say("parent, device works: %d", host::use_device(6));
  host::report();
  return 0;
}
