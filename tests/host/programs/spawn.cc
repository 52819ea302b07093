// Children made without fork: vfork + exec, posix_spawn, system, popen. Each is a program that uses
// HIP.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "host.h"

extern char** environ;

namespace {

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    host::say("%s, device works: %d", argv[1], host::use_device(argv[1][0]));
    host::report();
    return 50;
  }
  host::say("device works: %d", host::use_device(1));
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;

  const pid_t vforked = vfork();
  if (vforked == 0) {
    execl(self, argv[0], "vfork", static_cast<char*>(nullptr));
    _exit(1);
  }
  host::say("vfork: %d", status_of(vforked));

  const pid_t failed = vfork();
  if (failed == 0) {
    execl("/nonexistent", "nonexistent", static_cast<char*>(nullptr));
    _exit(51);
  }
  host::say("vfork without a program: %d", status_of(failed));

  char name[] = "posix_spawn";
  char* arguments[] = {argv[0], name, nullptr};
  pid_t spawned = 0;
  host::say("posix_spawn: %d", posix_spawn(&spawned, self, nullptr, nullptr, arguments, environ));
  host::say("posix_spawn: %d", status_of(spawned));

  host::say("system: %d", WEXITSTATUS(std::system(("'" + std::string(self) + "' system").c_str())));

  FILE* pipe = popen(("'" + std::string(self) + "' popen").c_str(), "r");
  char line[256];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    line[std::string(line).find('\n')] = '\0';
    host::say("%s", line);
  }
  host::say("popen: %d", WEXITSTATUS(pclose(pipe)));
  host::say("device still works: %d", host::use_device(2));
  host::report();
  return 0;
}
