// Calls that never return to their caller: pthread_exit from a callback, cancellation while
// blocked, a jump out of a signal handler, and an exception thrown through the runtime. Cleanup
// handlers and destructors run as they do without a recorder.
#include <pthread.h>
#include <setjmp.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include "host.h"

namespace {

struct Guard {
  const char* what;
  ~Guard() { host::say("left behind: %s", what); }
};

void leave_thread(hipStream_t, hipError_t, void*) { pthread_exit(nullptr); }
void throw_through(hipStream_t, hipError_t, void*) { throw std::runtime_error("from a callback"); }

sigjmp_buf g_back;
void jump_back(int) { siglongjmp(g_back, 1); }
void raise_here(hipStream_t, hipError_t, void*) { raise(SIGUSR1); }

void* exits_in_callback(void*) {
  Guard guard{"a thread that exits inside a call"};
  host::use_device(1);
  hipStreamAddCallback(nullptr, leave_thread, nullptr, 0);
  host::say("not reached");
  return nullptr;
}

void* blocks_for_ever(void* ready) {
  Guard guard{"a thread cancelled inside a call"};
  host::use_device(2);
  static_cast<std::atomic<bool>*>(ready)->store(true);
  hipStreamSynchronize(nullptr);
  host::say("not reached");
  return nullptr;
}

}  // namespace

int main() {
  signal(SIGUSR1, jump_back);
  for (int round = 0; round < 10; ++round) {
    pthread_t thread;
    pthread_create(&thread, nullptr, exits_in_callback, nullptr);
    pthread_join(thread, nullptr);

    std::atomic<bool> ready{false};
    pthread_create(&thread, nullptr, blocks_for_ever, &ready);
    while (!ready) std::this_thread::yield();
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    host::say("cancelled: %d", result == PTHREAD_CANCELED);

    try {
      hipStreamAddCallback(nullptr, throw_through, nullptr, 0);
      host::say("not reached");
    } catch (const std::runtime_error& error) {
      host::say("caught: %s", error.what());
    }
    if (sigsetjmp(g_back, 1) == 0) {
      hipStreamAddCallback(nullptr, raise_here, nullptr, 0);
      host::say("not reached");
    }
    host::use_device(3);  // the thread whose calls were left goes on recording
  }
  host::report();
  return 0;
}
