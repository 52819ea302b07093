// The copy of doubles whose hardware counters are published with rocprofiler-compute, written anew: the same
// parameters, the same guard, one load and one store.
#include <hip/hip_runtime.h>

extern "C" __global__ void vec_copy(double* a, double* b, double* c, int n, int stride) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < n) c[id] = a[id];
}
