// Writes what a kernel sees of its dispatch, from one lane: sizes, counts and ids of every
// dimension.
#include <hip/hip_runtime.h>

extern "C" __global__ void shapes(int* out) {
  if (blockIdx.x != 2 || blockIdx.y != 1 || threadIdx.x != 63 || threadIdx.y != 1) return;
  const int values[] = {int(gridDim.x),  int(gridDim.y),   int(gridDim.z),   int(blockDim.x),
                        int(blockDim.y), int(blockDim.z),  int(blockIdx.x),  int(blockIdx.y),
                        int(blockIdx.z), int(threadIdx.x), int(threadIdx.y), int(threadIdx.z),
                        int(warpSize)};
  for (int i = 0; i < 13; ++i) out[i] = values[i];
}
