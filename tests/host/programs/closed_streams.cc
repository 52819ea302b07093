// Standard streams closed from the start: the program's own files become 0, 1 and 2, and what lands
// in them is the program's alone. argv[1] is the file that gets the result.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "host.h"

int main(int argc, char** argv) {
  if (argc > 2) {  // start again without streams
    close(0);
    close(1);
    close(2);
    execl("/proc/self/exe", argv[0], argv[1], static_cast<char*>(nullptr));
    _exit(1);
  }
  const int first = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int second = dup(first);
  const int third = dup(first);
  host::say("the first files are %d, %d and %d", first, second, third);
  host::say("device works: %d", host::use_device(9));
  host::report();
  struct stat at_path, at_one;
  stat(argv[1], &at_path);
  fstat(1, &at_one);
  return at_path.st_ino == at_one.st_ino ? 4 : 1;
}
