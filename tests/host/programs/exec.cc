// exec: the same process becomes another program, twice; each image uses HIP.
#include <cstdlib>

#include "host.h"

int main(int argc, char** argv) {
  const int image = argc > 1 ? std::atoi(argv[1]) : 1;
  host::say("image %d, device works: %d", image, host::use_device(image));
  host::report();
  if (image == 3) return 30;
  char next[] = {static_cast<char>('1' + image), '\0'};
  execl("/proc/self/exe", argv[0], next, static_cast<char*>(nullptr));
  host::say("exec failed");
  return 1;
}
