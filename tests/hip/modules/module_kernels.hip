// Device code only: compiled to a file of its own, which module_load loads at run time.
#include <hip/hip_runtime.h>

__constant__ int g_factor = 2;
__device__ int g_launches = 0;

extern "C" __global__ void scale(const float* in, float* out, float by, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * by * g_factor;
  if (i == 0) atomicAdd(&g_launches, 1);
}

extern "C" __global__ void reverse_block(int* data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
