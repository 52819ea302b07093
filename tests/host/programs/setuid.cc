// A program that runs with another user's rights: the loader ignores preloaded libraries there, and
// nothing of ours may be picked up by another way.
#include <sys/auxv.h>

#include "host.h"

int main() {
  host::say("secure %lu, other user %d", getauxval(AT_SECURE), getuid() != geteuid());
  int count = 0;
  host::say("hipGetDeviceCount %d", hipGetDeviceCount(&count));
  return 11;
}
