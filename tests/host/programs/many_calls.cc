// Threads that make a given number of calls as fast as they can: `many_calls THREADS CALLS [STEP]`.
// With STEP, every thread also flushes the recorder (RPD's entry point) each STEP calls.
#include <cstdlib>
#include <thread>
#include <vector>

#include "host.h"

extern "C" __attribute__((weak)) void rpdflush();

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 200000;
  const int step = argc > 3 ? std::atoi(argv[3]) : 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([calls, step, t] {
      for (int i = 0; i < calls; ++i) {
        void* memory = nullptr;
        (void)hipMalloc(&memory, static_cast<size_t>(t) << 32 | static_cast<unsigned>(i));
        if (step != 0 && i % step == 0 && rpdflush != nullptr) rpdflush();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  host::say("process");
  host::say("calls hipMalloc %d", threads * calls);
  return 0;
}
