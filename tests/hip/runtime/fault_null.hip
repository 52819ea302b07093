// A kernel writes through a null pointer: ROCr reports address zero and aborts.
#include "check.h"

__global__ void write_null(int* where) { *where = 1; }

int main() {
  write_null<<<1, 1>>>(nullptr);
  (void)hipDeviceSynchronize();
  std::printf("FAIL the program went on after a GPU page fault\n");
  return 1;
}
