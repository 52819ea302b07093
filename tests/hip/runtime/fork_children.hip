// fork: a child forked before the runtime starts uses the device itself; one forked after may exit
// without disturbing the parent; one that executes a new program gets a device of its own.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void square(int* data) {
  data[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x);
}

bool device_works() {
  check::Buffer<int> data(64);
  square<<<1, 64>>>(data);
  if (hipDeviceSynchronize() != hipSuccess) return false;
  const std::vector<int> values = data.read();
  for (int i = 0; i < 64; ++i) {
    if (values[i] != i * i) return false;
  }
  return true;
}

int wait_for(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc > 1) return device_works() ? 21 : 1;  // the executed program

  std::fflush(stdout);
  const pid_t before = fork();
  if (before == 0) std::_Exit(device_works() ? 20 : 1);
  check::equal("forked before the runtime started", wait_for(before), 20);
  check::expect(device_works(), "the parent's device works");

  const pid_t silent = fork();
  if (silent == 0) std::_Exit(22);
  check::equal("forked later, exits at once", wait_for(silent), 22);
  check::expect(device_works(), "the parent's device still works");

  const pid_t executed = fork();
  if (executed == 0) {
    execl("/proc/self/exe", argv[0], "child", static_cast<char*>(nullptr));
    std::_Exit(2);
  }
  check::equal("forked and executed", wait_for(executed), 21);
  check::expect(device_works(), "the parent's device works at the end");
  return check::finish();
}
