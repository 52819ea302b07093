// Loops of one instruction each, so that the engine's speed can be stated in wave instructions per
// second. Every loop body is kUnroll copies of the instruction in inline assembler; the few
// instructions of the loop itself are not counted. Prints "NAME WAVE_INSTRUCTIONS SECONDS
// WAVE_SIZE" lines.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compare.h"

#define CHECK(call)                                                                    \
  do {                                                                                 \
    const hipError_t error = (call);                                                   \
    if (error != hipSuccess) {                                                         \
      std::fprintf(stderr, "instructions: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kUnroll = 16;
constexpr int kBlock = 256;
constexpr int kBlocks = 64;

#define REPEAT4(x) x x x x
#define REPEAT16(x) REPEAT4(REPEAT4(x))

__global__ void fma_loop(float* out, int iterations) {
  float a = threadIdx.x, b = 0.5f, c = 1.0f;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("v_fma_f32 %0, %0, %1, %2\n") : "+v"(a) : "v"(b), "v"(c));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__global__ void integer_loop(int* out, int iterations) {
  int a = threadIdx.x, b = 3;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("v_xor_b32 %0, %1, %0\n") : "+v"(a) : "v"(b));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__global__ void scalar_loop(int* out, int iterations) {
  int a = blockIdx.x;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("s_xor_b32 %0, %0, 5\n") : "+s"(a) : : "scc");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__global__ void lds_loop(int* out, int iterations) {
  __shared__ int cells[kBlock];
  cells[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const unsigned address = threadIdx.x * 4;
  int value = 0;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("ds_read_b32 %0, %1\n") "s_waitcnt lgkmcnt(0)\n"
                 : "=&v"(value)
                 : "v"(address)
                 : "memory");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value + cells[0];
}

__global__ void load_loop(int* out, const int* in, int iterations) {
  const int* address = in + blockIdx.x * blockDim.x + threadIdx.x;
  int value = 0;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("global_load_dword %0, %1, off\n") "s_waitcnt vmcnt(0)\n"
                 : "=&v"(value)
                 : "v"(address)
                 : "memory");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void store_loop(int* out, int iterations) {
  int* address = out + blockIdx.x * blockDim.x + threadIdx.x;
  int value = threadIdx.x;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("global_store_dword %0, %1, off\n")
                 :
                 : "v"(address), "v"(value)
                 : "memory");
  }
}

__global__ void atomic_loop(int* out, int iterations) {
  int* address = out + blockIdx.x * blockDim.x + threadIdx.x;
  int value = 1;
  for (int i = 0; i < iterations; ++i) {
    asm volatile(REPEAT16("global_atomic_add %0, %1, off\n")
                 :
                 : "v"(address), "v"(value)
                 : "memory");
  }
}

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const int wave_size = properties.warpSize;
  int *in = nullptr, *out = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&in), kBlock * kBlocks * sizeof(int)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&out), kBlock * kBlocks * sizeof(int)));
  CHECK(hipMemset(in, 0, kBlock * kBlocks * sizeof(int)));

  const auto measure = [&](const char* name, auto launch) {
    // Grow the loop until a run takes long enough to be told from noise.
    int iterations = 64;
    double seconds = 0;
    while (true) {
      const double start = seconds_now();
      launch(iterations);
      CHECK(hipGetLastError());
      CHECK(hipDeviceSynchronize());
      seconds = seconds_now() - start;
      if (seconds > 0.4 || iterations > (1 << 24)) break;
      iterations *= seconds < 0.02 ? 8 : 2;
    }
    const double waves = static_cast<double>(kBlocks) * kBlock / wave_size;
    std::printf("%s %.0f %.6f %d\n", name, waves * kUnroll * iterations, seconds, wave_size);
    std::fflush(stdout);
  };
  measure("fma", [&](int n) { fma_loop<<<kBlocks, kBlock>>>(reinterpret_cast<float*>(out), n); });
  measure("integer", [&](int n) { integer_loop<<<kBlocks, kBlock>>>(out, n); });
  measure("scalar", [&](int n) { scalar_loop<<<kBlocks, kBlock>>>(out, n); });
  measure("lds", [&](int n) { lds_loop<<<kBlocks, kBlock>>>(out, n); });
  measure("load", [&](int n) { load_loop<<<kBlocks, kBlock>>>(out, in, n); });
  measure("store", [&](int n) { store_loop<<<kBlocks, kBlock>>>(out, n); });
  measure("atomic", [&](int n) { atomic_loop<<<kBlocks, kBlock>>>(out, n); });
  return 0;
}
