// Device memory shared between two processes by handle: the child maps the parent's allocation,
// checks it, changes it with a kernel, and the parent sees the change. The child is the same
// program, executed.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void triple(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= 3;
}

constexpr int kCount = 30000;

// Reads exactly `bytes` from a pipe.
bool read_all(int fd, void* to, size_t bytes) {
  for (size_t have = 0; have < bytes;) {
    const ssize_t got = read(fd, static_cast<char*>(to) + have, bytes - have);
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

int run_child(int from_parent) {
  hipIpcMemHandle_t handle;
  if (!read_all(from_parent, &handle, sizeof handle)) return 2;
  int* data = nullptr;
  if (hipIpcOpenMemHandle(reinterpret_cast<void**>(&data), handle, hipIpcMemLazyEnablePeerAccess) !=
      hipSuccess)
    return 3;
  std::vector<int> values(kCount);
  if (hipMemcpy(values.data(), data, kCount * sizeof(int), hipMemcpyDeviceToHost) != hipSuccess)
    return 4;
  for (int i = 0; i < kCount; ++i) {
    if (values[i] != i + 5) return 5;
  }
  triple<<<check::blocks_for(kCount, 256), 256>>>(data, kCount);
  if (hipDeviceSynchronize() != hipSuccess) return 6;
  return hipIpcCloseMemHandle(data) == hipSuccess ? 33 : 7;
}

int main(int argc, char** argv) {
  if (argc > 1) return run_child(std::atoi(argv[1]));
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    const std::string end = std::to_string(pipe_ends[0]);
    execl("/proc/self/exe", argv[0], end.c_str(), static_cast<char*>(nullptr));
    std::_Exit(1);
  }
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = i + 5;
  // In the middle of a larger allocation pool the handle must still find the right place.
  check::Buffer<int> before(777), data(values), after(999);
  hipIpcMemHandle_t handle;
  WT_HIP(hipIpcGetMemHandle(&handle, data.get()));
  check::expect(write(pipe_ends[1], &handle, sizeof handle) == sizeof handle, "the handle is sent");
  int status = 0;
  waitpid(child, &status, 0);
  check::equal("exit status of the child",
               WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 33);
  for (int& v : values) v *= 3;
  check::equal("the parent sees the child's change", data.read(), values);
  return check::finish();
}
