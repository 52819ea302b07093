// A daemon: the first process leaves at once, its child goes on using HIP and ends later.
#include <chrono>
#include <thread>

#include "host.h"

int main() {
  host::use_device(1);
  host::report();
  if (fork() != 0) return 12;
  host::forget_calls();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (int i = 0; i < 10000; ++i) host::use_device(2);
  host::say("the child is done");
  host::report();
  return 0;
}
