// 64 threads at once, then 64 more one after the other; the last ones on the smallest stack there
// is.
#include <limits.h>
#include <pthread.h>

#include <thread>
#include <vector>

#include "host.h"

namespace {

void* on_small_stack(void*) {
  for (int i = 0; i < 100; ++i) {
    void* memory = nullptr;
    CALL(hipMalloc, &memory, 64);
    CALL(hipFree, memory);
  }
  return nullptr;
}

}  // namespace

int main() {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) threads.emplace_back([&good, i] { good += host::use_device(i); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 64; ++i) std::thread([&good, i] { good += host::use_device(i); }).join();
  host::say("threads whose device worked: %d", good.load());

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + (64 << 10));
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    pthread_create(&thread, &attributes, on_small_stack, nullptr);
    pthread_join(thread, nullptr);
  }
  host::report();
  return 0;
}
