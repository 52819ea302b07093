// fork without exec in the middle of HIP calls on four threads: the child starts with a copy of
// everything the recorder had, and must neither touch the parent's records nor lose its own. (AMD's
// runtime does not support this, so the stand-in answers.)
#include <sys/wait.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "host.h"

namespace {

void some_calls(int calls) {
  for (int i = 0; i < calls; ++i) {
    void* memory = nullptr;
    CALL(hipMalloc, &memory, static_cast<size_t>(i));
    CALL(hipFree, memory);
  }
}

}  // namespace

int main() {
  some_calls(10);
  std::atomic<bool> stop{false};
  std::atomic<int> calling{0};
  std::vector<std::thread> busy;
  for (int i = 0; i < 4; ++i) {
    busy.emplace_back([&] {
      for (bool is_first = true; !stop; is_first = false) {
        int device;
        for (int i = 0; i < 16; ++i) CALL(hipGetDevice, &device);
        if (is_first) ++calling;
        usleep(50);  // enough rows as it is
      }
    });
  }
  // Not while they start: gcc 12's sanitizers have locks then that a child would find taken for ever.
  while (calling < 4) usleep(50);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      host::forget_calls();
      some_calls(1000 + round);
      std::thread other([] { some_calls(50); });
      other.join();
      host::report();
      if (round % 2 == 0) _exit(round);
      std::exit(round);
    }
    some_calls(100);
    int status = 0;
    waitpid(child, &status, 0);
    host::say("child %d left with %d", round,
              WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  // How often the busy threads got round differs from run to run, so only the harness hears of it.
  for (const host::Counted& entry : host::g_counted) {
    if (entry.name != nullptr)
      std::fprintf(stderr, "uncompared calls %s %llu\n", entry.name.load(),
                   static_cast<unsigned long long>(entry.calls.load()));
  }
  return 0;
}
