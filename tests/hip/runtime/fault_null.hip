// A kernel writes through a null pointer: ROCr reports address zero and aborts.
#include "versions.h"

__global__ void write_null(int* where) { *where = 1; }

int main() {
  write_null<<<1, 1>>>(nullptr);
  return check::after_fault(hipDeviceSynchronize(), "a GPU page fault");
}
