// Signals stay the program's: dispositions, mask, which thread gets them, and HIP calls made by a
// handler in the middle of another HIP call.
#include <pthread.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "host.h"

namespace {

std::atomic<int> g_handled{0};
std::atomic<int> g_elsewhere{0};
pthread_t g_main;

void handler(int) {
  const int saved = errno;
  if (pthread_equal(pthread_self(), g_main) == 0) g_elsewhere.fetch_add(1);
  int device;
  (void)hipGetDevice(&device);
  g_handled.fetch_add(1);
  errno = saved;
}

}  // namespace

int main() {
  g_main = pthread_self();
  int touched = 0;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction present;
    if (sigaction(number, nullptr, &present) != 0) continue;
    if (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN) ++touched;
  }
  host::say("signals with a handler: %d", touched);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  int blocked = 0;
  for (int number = 1; number < NSIG; ++number) blocked += sigismember(&mask, number) == 1;
  host::say("signals blocked: %d", blocked);

  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  const itimerval every{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, nullptr);
  uint64_t wrong = 0;
  for (size_t i = 0; g_handled < 500; ++i) {
    void* memory = nullptr;
    CALL(hipMalloc, &memory, i);
    wrong += memory != reinterpret_cast<void*>(i * 2 + 0x100);
    if (i % 64 == 0) kill(getpid(), SIGUSR1);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  host::say("wrong results: %llu", static_cast<unsigned long long>(wrong));
  host::say("handled on another thread: %d", g_elsewhere.load());

  // A signal nobody handles ends the process, and not the one that was recorded first.
  for (const host::Counted& entry : host::g_counted) {
    if (entry.name != nullptr)
      std::fprintf(stderr, "uncompared calls %s %llu\n", entry.name.load(),
                   static_cast<unsigned long long>(entry.calls.load()));
  }
  signal(SIGUSR1, SIG_DFL);
  kill(getpid(), SIGUSR1);
  return 1;
}
