// A kernel with the hidden arguments of printf, and nothing else of size: printf's own code is inlined and instrumented with it.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void greet(int first) {
  if (threadIdx.x == 0) printf("block %d says %d\n", static_cast<int>(blockIdx.x), first);
}

int main() {
  hipLaunchKernelGGL(greet, dim3(2), dim3(64), 0, nullptr, 7);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
