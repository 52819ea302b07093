// A kernel writes through a pointer that was freed: a page fault, reported by ROCr, ends the
// program.
#include "versions.h"

__global__ void write_to(int* where) { where[threadIdx.x] = 1; }

int main() {
  int* data = nullptr;
  // Large enough to be an allocation of its own, which goes back to the driver when freed.
  WT_HIP(hipMalloc(&data, 64 << 20));
  write_to<<<1, 64>>>(data);
  check::sync();
  WT_HIP(hipFree(data));
  write_to<<<1, 64>>>(data);
  return check::after_fault(hipDeviceSynchronize(), "a GPU page fault");
}
