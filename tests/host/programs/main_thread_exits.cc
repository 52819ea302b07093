// The main thread ends first; the process lives as long as another thread of the program does, and
// no longer.
#include <pthread.h>

#include <chrono>
#include <thread>

#include "host.h"

int main() {
  host::use_device(1);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    host::use_device(2);
    host::report();
  }).detach();
  pthread_exit(nullptr);
}
