// A daemon that uses HIP for the first time when its parent is long gone:
//
//   held_back GO RESULT      waits for the file GO, uses the device, says in RESULT how that went
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "host.h"

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  if (fork() != 0) return 12;
  setsid();
  if (fork() != 0) _exit(0);
  // Whoever waits for the end of our output must not wait for us.
  const int nowhere = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(nowhere, fd);
  struct stat info {};
  for (int tries = 0; stat(argv[1], &info) != 0; ++tries) {
    if (tries == 6000) _exit(2);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const bool works = host::use_device(7);
  dup2(open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDOUT_FILENO);
  host::say("the device works: %d", works);
  host::report();
  return 0;
}
