// The kernel normal_exit.cc launches.
#include <hip/hip_runtime.h>

extern "C" __global__ void square(int* values) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = static_cast<int>(i * i);
}
