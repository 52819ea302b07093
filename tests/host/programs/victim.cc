// Busy threads that keep their own account of completed calls in a shared mapping, to be killed at
// any moment: `victim LOG THREADS [BURST [LIFE]]`. The nth call of thread t is hipMalloc of t << 40 | n; the
// account moves on only after the call returned, so whatever it says must be in the trace. With
// BURST, each thread rests a millisecond after so many calls; with LIFE, the kernel kills it so many
// nanoseconds after its first call, however busy the machine is.
//
// LOG holds: a ready flag, then one 64-bit count per thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "host.h"

namespace {

bool kill_after(uint64_t life_ns) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer;
  itimerspec at{};
  at.it_value.tv_sec = static_cast<time_t>(life_ns / 1'000'000'000);
  at.it_value.tv_nsec = static_cast<long>(life_ns % 1'000'000'000);
  return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
         timer_settime(timer, 0, &at, nullptr) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  alarm(10);  // when nobody kills it: it would fill the disk with its trace
  const int threads = std::atoi(argv[2]);
  const uint64_t burst = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const uint64_t life = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  const size_t bytes = sizeof(uint64_t) * (2 + static_cast<size_t>(threads));
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) return 1;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return 1;
  auto* words = static_cast<std::atomic<uint64_t>*>(mapped);
  std::atomic<bool> lives{false};
  std::atomic<int> waiting{threads};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([words, t, burst, life, &lives, &waiting] {
      // All begin at once.
      for (waiting.fetch_sub(1); life != 0 && waiting.load() > 0;) std::this_thread::yield();
      for (uint64_t n = 1;; ++n) {
        void* memory = nullptr;
        (void)hipMalloc(&memory, static_cast<uint64_t>(t) << 40 | n);
        words[2 + t].store(n, std::memory_order_release);
        if (life != 0 && n == 1 && !lives.exchange(true) && !kill_after(life)) _exit(1);
        if (burst != 0 && n % burst == 0) usleep(1000);
      }
    });
  }
  words[1].store(static_cast<uint64_t>(getpid()));
  words[0].store(1);
  for (std::thread& worker : workers) worker.join();
}
