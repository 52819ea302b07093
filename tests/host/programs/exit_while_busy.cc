// main returns while eight threads are inside HIP calls, some of them for ever.
#include <thread>

#include "host.h"

int main() {
  std::atomic<int> running{0};
  for (int i = 0; i < 8; ++i) {
    std::thread([&running, i] {
      running.fetch_add(1);
      if (i % 4 == 0) hipStreamSynchronize(nullptr);
      for (;;) {
        void* memory;
        (void)hipMalloc(&memory, 64);
      }
    }).detach();
  }
  while (running < 8) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) {
    int device;
    CALL(hipGetDevice, &device);
  }
  host::report();
  return 9;
}
