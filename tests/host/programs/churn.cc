// Short threads, some of them at a time, each with a few calls: `churn THREADS AT_ONCE`.
#include <cstdlib>
#include <thread>
#include <vector>

#include "host.h"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int at_once = argc > 2 ? std::atoi(argv[2]) : 4;
  for (int done = 0; done < threads; done += at_once) {
    std::vector<std::thread> running;
    for (int i = done; i < done + at_once && i < threads; ++i)
      running.emplace_back([i] {
        // Each its own sizes, so that a call can be told from every other.
        for (size_t n = 0; n < 2; ++n) {
          void* memory = nullptr;
          CALL(hipMalloc, &memory, static_cast<size_t>(i) << 32 | n);
        }
      });
    for (std::thread& thread : running) thread.join();
  }
  host::report();
  return 0;
}
