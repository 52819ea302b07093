// Code objects to be replaced as a whole: kernels that share variables with each other and the host. Compiled a second time
// with -DNEW, what it computes is another; a third time with -DOTHER, a variable has another size and a kernel needs more LDS.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

#if defined(NEW) || defined(OTHER)
constexpr int kAdd = 1000;
#else
constexpr int kAdd = 0;
#endif

__device__ int counter;
#ifdef OTHER
__constant__ int table[8];
#else
__constant__ int table[4];
#endif
__device__ int initial = 7 + kAdd;
__managed__ int managed = 3;

// Both see what the other and the host store.
__global__ void count(int by) { atomicAdd(&counter, by + kAdd); }

__global__ void add(int* data) {
  data[threadIdx.x] = counter + table[threadIdx.x & 3] + initial + kAdd;
}

__global__ void manage(int by) { managed = managed * by + kAdd; }

// No variable: replaced alone where the whole is refused.
__global__ void plain(int* data) {
#ifdef OTHER
  __shared__ int own[256];
  own[threadIdx.x] = kAdd;
  __syncthreads();
  data[threadIdx.x] = own[63 - threadIdx.x];
#else
  data[threadIdx.x] = kAdd;
#endif
}

static int value_of(const int* data, int index) {
  int value = 0;
  WT_HIP(hipMemcpy(&value, data + index, sizeof value, hipMemcpyDeviceToHost));
  return value;
}

static void variables() {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, 256 * sizeof(int)));
  const int first = 5, numbers[4] = {10, 20, 30, 40};
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(counter), &first, sizeof first));
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), numbers, sizeof numbers));
  count<<<1, 4>>>(2);
  add<<<1, 64>>>(data);
  int counted = 0;
  WT_HIP(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof counted));
  std::printf("counter %d\nadd %d\n", counted, value_of(data, 1));
  plain<<<1, 64>>>(data);
  std::printf("plain %d\n", value_of(data, 1));
}

static void managed_memory() {
  managed += 1;
  manage<<<1, 1>>>(10);
  WT_HIP(hipDeviceSynchronize());
  std::printf("managed %d\n", managed);
}

// Every GPU has its own code object, and its own variables.
static void devices() {
  int count_of = 0;
  WT_HIP(hipGetDeviceCount(&count_of));
  std::vector<int> counted(static_cast<size_t>(count_of));
  std::vector<std::thread> threads;
  for (int device = 0; device < count_of; ++device) {
    threads.emplace_back([&counted, device] {
      WT_HIP(hipSetDevice(device));
      WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(counter), &device, sizeof device));
      for (int i = 0; i < 10; ++i) count<<<1, 1>>>(1);
      WT_HIP(hipMemcpyFromSymbol(&counted[static_cast<size_t>(device)], HIP_SYMBOL(counter),
                                 sizeof(int)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int one : counted) std::printf("device %d\n", one);
}

// A module of a file, whose variable is found by name; then the same once more.
static void module(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string code{std::istreambuf_iterator<char>(file), {}};
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, 256 * sizeof(int)));
  for (int turn = 0; turn < 2; ++turn) {
    hipModule_t loaded;
    WT_HIP(hipModuleLoadData(&loaded, code.data()));
    hipDeviceptr_t variable;
    size_t bytes = 0;
    WT_HIP(hipModuleGetGlobal(&variable, &bytes, loaded, "counter"));
    int value = 100 + turn;
    WT_HIP(hipMemcpyHtoD(variable, &value, sizeof value));
    hipFunction_t function;
    WT_HIP(hipModuleGetFunction(&function, loaded, "_Z3addPi"));
    void* arguments[] = {&data};
    WT_HIP(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    std::printf("module %d, variable of %zu bytes\n", value_of(data, 1), bytes);
    WT_HIP(hipModuleUnload(loaded));
  }
}

int main(int count_of, char** words) {
  for (int i = 1; i < count_of; ++i) {
    if (std::strcmp(words[i], "variables") == 0) variables();
    else if (std::strcmp(words[i], "managed") == 0) managed_memory();
    else if (std::strcmp(words[i], "devices") == 0) devices();
    else module(words[i]);
  }
  return 0;
}
