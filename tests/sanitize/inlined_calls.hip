// Mistakes inside functions that the compiler inlines, HIP's and the program's own: a report must name
// the line of this file, and the calls between. tests/probe and wavetap source look at it as well.
//
//   inlined_calls none|atomic|store|barrier
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kThreads = 256;

__device__ __forceinline__ void count_one(int* counters, int at) {
  atomicAdd(&counters[at], 1);  // MARK atomic
}

__device__ __forceinline__ void put(int* data, int at) {
  data[at] = at;  // MARK store
}

__global__ void count_all(int* counters, int limit) {
  const int i = int(threadIdx.x);
  if (i < limit) count_one(counters, i);  // MARK atomic call
}

__global__ void put_all(int* data, int limit) {
  const int i = int(threadIdx.x);
  if (i < limit) put(data, i);  // MARK store call
}

__global__ void wait_for_some(int* data, int limit) {
  __shared__ int parts[kThreads];
  const int i = int(threadIdx.x);
  parts[i] = data[i & 63];
  if (i < limit) {
    __syncthreads();  // MARK barrier
  }
  if (i < 64) data[i] = parts[i ^ 1];
}

int main(int argc, char** argv) {
  const char* bug = argc > 1 ? argv[1] : "none";
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess ||  // MARK allocation
      hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess)
    return 1;
  const auto is = [&](const char* name) { return std::strcmp(bug, name) == 0; };
  count_all<<<1, kThreads>>>(data, is("atomic") ? 70 : 64);
  put_all<<<1, kThreads>>>(data, is("store") ? 70 : 64);
  wait_for_some<<<1, kThreads>>>(data, is("barrier") ? 64 : kThreads);
  const hipError_t status = hipDeviceSynchronize();
  std::printf("inlined_calls: %s\n", hipGetErrorString(status));
  return status == hipSuccess ? 0 : 1;
}
