// abort() in a kernel, which is a trap instruction, stops the program.
#include "versions.h"

__global__ void stop_if(int lane) {
  if (static_cast<int>(threadIdx.x) == lane) abort();
}

int main() {
  stop_if<<<1, 64>>>(1000);
  check::sync();
  std::printf("no lane stopped the first launch\n");
  std::fflush(stdout);
  stop_if<<<1, 64>>>(5);
  return check::after_fault(hipDeviceSynchronize(), "abort()");
}
