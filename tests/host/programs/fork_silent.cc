// fork without exec after the runtime started; the children never touch HIP and leave in every way.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "host.h"

int main() {
  host::say("device works: %d", host::use_device(7));
  for (int way = 0; way < 4; ++way) {
    const pid_t child = fork();
    if (child == 0) {
      if (way == 0) _exit(40);
      if (way == 1) raise(SIGKILL);
      if (way == 2) raise(SIGTERM);
      execl("/bin/sh", "sh", "-c", "exit 43", static_cast<char*>(nullptr));
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    host::say("child %d: exited %d, status %d", way, WIFEXITED(status),
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    host::say("device works: %d", host::use_device(8 + way));
  }
  host::report();
  return 0;
}
