// A failed assert in a kernel prints its text and stops the program.
#include <cassert>

#include "versions.h"

__global__ void must_be_small(const int* values, int limit) {
  assert(values[threadIdx.x] < limit && "value within the limit");
}

int main() {
  std::vector<int> values(64, 3);
  check::Buffer<int> device(values);
  must_be_small<<<1, 64>>>(device, 10);
  check::sync();
  std::printf("the first launch held\n");
  std::fflush(stdout);
  values[37] = 50;
  device.write(values);
  must_be_small<<<1, 64>>>(device, 10);
  return check::after_fault(hipDeviceSynchronize(), "a failed assert");
}
