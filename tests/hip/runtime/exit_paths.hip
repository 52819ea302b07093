// Ways to end: with work still queued, from another thread, through exit() with device memory in
// static objects, by _exit. Each is a child of this program, which must end as it says within
// seconds.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "check.h"

__global__ void slow(int* data, int turns) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  int value = data[at];
  for (int i = 0; i < turns; ++i) value = value * 1664525 + 1013904223;
  data[at] = value;
}

struct FreedAtExit {
  int* data = nullptr;
  ~FreedAtExit() { (void)hipFree(data); }
};
FreedAtExit g_static;

int run_child(const std::string& how) {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, 4096));
  WT_HIP(hipMemset(data, 0, 4096));
  slow<<<4, 64>>>(data, 1000);
  if (how == "pending") return 40;  // nothing waits for the kernel
  if (how == "thread") {
    std::thread([] { std::exit(41); }).join();
  }
  if (how == "static") {
    g_static.data = data;
    WT_HIP(hipDeviceSynchronize());
    std::exit(42);
  }
  if (how == "quick") _exit(43);
  if (how == "reset") {
    WT_HIP(hipDeviceSynchronize());
    WT_HIP(hipDeviceReset());
    return 44;
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc > 1) return run_child(argv[1]);
  const struct {
    const char* how;
    int status;
  } cases[] = {{"pending", 40}, {"thread", 41}, {"static", 42}, {"quick", 43}, {"reset", 44}};
  for (const auto& c : cases) {
    const auto start = std::chrono::steady_clock::now();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", argv[0], c.how, static_cast<char*>(nullptr));
      std::_Exit(1);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(100))
        kill(child, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const int got = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    check::expect(got == c.status, "%s: exit status %d, want %d", c.how, got, c.status);
  }
  return check::finish();
}
