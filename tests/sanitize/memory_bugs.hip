// Kernels with one wrong access each, chosen by the first argument, and the same kernels used rightly
// when there is none. tests/sanitize/check.py knows what must be found.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

constexpr int kThreads = 64;

__global__ void fill(int* data, int first) { data[first + int(threadIdx.x)] = int(threadIdx.x); }
__global__ void sum(const int* data, int count, int* result) {
  int total = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) total += data[i];
  atomicAdd(result, total);
}
__global__ void add_at(char* bytes, long offset) {
  atomicAdd(reinterpret_cast<unsigned*>(bytes + offset), 1u);
}
__global__ void turn_round(const int* data, int last, int* turned) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  turned[blockIdx.x * kThreads + threadIdx.x] = shared[last - int(threadIdx.x)];
}
// An array in scratch, indexed by what the compiler cannot know.
__global__ void private_array(int* data, int first) {
  volatile int own[16];
  for (int i = 0; i < 16; ++i) own[i] = i;
  own[first + (threadIdx.x & 7)] = 1;
  data[threadIdx.x] = own[threadIdx.x & 15];
}

int* allocate(size_t bytes) {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, bytes));
  WT_HIP(hipMemset(data, 0, bytes));
  return data;
}

int main(int argc, char** argv) {
  const std::string bug = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return bug == name; };
  constexpr size_t kBytes = kThreads * sizeof(int);
  int* data = allocate(kBytes);
  int* result = allocate(sizeof(int));
  int* freed = allocate(kBytes);
  int* turned = allocate(2 * kBytes);
  if (is("freed")) WT_HIP(hipFree(freed));

  // The same bug in several dispatches is one finding.
  for (int i = 0; is("again") && i < 2; ++i) fill<<<1, kThreads>>>(data, 2);
  fill<<<1, kThreads>>>(data, is("past") || is("again") ? 2
                              : is("before")            ? -3
                              : is("far")               ? 4096
                                                        : 0);
  WT_HIP(hipDeviceSynchronize());
  if (is("freed") || is("wild")) {
    fill<<<1, kThreads>>>(is("freed") ? freed : reinterpret_cast<int*>(0x1234567000), 0);
    WT_HIP(hipDeviceSynchronize());
  }
  sum<<<1, kThreads>>>(data, is("read") ? kThreads + 1 : kThreads, result);
  add_at<<<1, 1>>>(reinterpret_cast<char*>(data), is("misaligned") ? 6 : 8);
  WT_HIP(hipDeviceSynchronize());
  const int last = is("lds") ? kThreads : kThreads - 1;
  turn_round<<<2, kThreads, kBytes>>>(data, last, turned);
  private_array<<<1, kThreads>>>(data, is("scratch") ? 100 : 0);
  WT_HIP(hipDeviceSynchronize());
  check::expect(true, "every kernel has run");
  return check::finish();
}
