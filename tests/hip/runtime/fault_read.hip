// A kernel reads where nothing is mapped: ROCr must report the fault by its own words and abort.
// The program itself must never get past the synchronisation.
#include "versions.h"

__global__ void read_from(const int* where, int* out) { out[threadIdx.x] = where[threadIdx.x]; }

int main() {
  check::Buffer<int> out(64);
  read_from<<<1, 64>>>(reinterpret_cast<const int*>(uintptr_t{0x123456789000}), out);
  return check::after_fault(hipDeviceSynchronize(), "a GPU page fault");
}
