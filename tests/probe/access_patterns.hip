// Kernels whose memory accesses are known by hand: check.py has the figures. Each kernel has the access
// in question on a line of its own, marked MARK, and is launched with one wave per workgroup.
//
//   access_patterns CASE   runs one case; without one, all
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                       \
  do {                                                                    \
    const hipError_t result = (call);                                     \
    if (result != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(result)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

constexpr int kWorkgroups = 4;
constexpr int kElements = 1 << 16;

struct Pair {
  float x, y, z, w;
};

// --- Global memory. `out` is written by lane, which every kernel does alike.

__global__ void stride1(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i];  // MARK stride1
  out[i] = value;
}

__global__ void stride2(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[2 * i];  // MARK stride2
  out[i] = value;
}

__global__ void stride3(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[3 * i];  // MARK stride3
  out[i] = value;
}

__global__ void stride32(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[32 * i];  // MARK stride32
  out[i] = value;
}

__global__ void stride33(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[33 * i];  // MARK stride33
  out[i] = value;
}

__global__ void misaligned(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i + 1];  // MARK misaligned
  out[i] = value;
}

__global__ void broadcast(const float* in, const int* where, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int same = where[i];         // zero, which the compiler does not know
  const float value = in[same + 5];  // MARK broadcast
  out[i] = value;
}

__global__ void struct_array(const Pair* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i].y;  // MARK struct_array
  out[i] = value;
}

__global__ void array_struct(const float* x, const float* y, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = y[i];  // MARK array_struct
  out[i] = value;
}

// --- LDS.

template <int kStride>
__device__ void through_lds(volatile float* lds, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int at = threadIdx.x; at < 64 * kStride; at += blockDim.x) lds[at] = 1;
  __syncthreads();
  out[i] = lds[threadIdx.x * kStride];  // MARK lds
}

__global__ void lds1(float* out) {
  __shared__ float lds[64];
  through_lds<1>(lds, out);
}
__global__ void lds2(float* out) {
  __shared__ float lds[128];
  through_lds<2>(lds, out);
}
__global__ void lds8(float* out) {
  __shared__ float lds[512];
  through_lds<8>(lds, out);
}
__global__ void lds32(float* out) {
  __shared__ float lds[2048];
  through_lds<32>(lds, out);
}
__global__ void lds33(float* out) {
  __shared__ float lds[2112];
  through_lds<33>(lds, out);
}

// --- Lanes that part: lane n goes round n % 4 + 1 times.

__global__ void divergent(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int round = 0; round <= (int)(threadIdx.x & 3); ++round) {
    sum += static_cast<volatile float*>(out)[i];  // MARK divergent
  }
  out[i] = sum;
}

int main(int argc, char** argv) {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const int lanes = properties.warpSize;
  float *in, *out;
  int* where;
  CHECK(hipMalloc(&in, kElements * sizeof(float)));
  CHECK(hipMalloc(&out, kElements * sizeof(float)));
  CHECK(hipMalloc(&where, kElements * sizeof(int)));
  CHECK(hipMemset(in, 0, kElements * sizeof(float)));
  CHECK(hipMemset(out, 0, kElements * sizeof(float)));
  CHECK(hipMemset(where, 0, kElements * sizeof(int)));
  const auto runs = [&](const char* name) { return argc < 2 || std::strcmp(argv[1], name) == 0; };
  const dim3 grid(kWorkgroups), block(lanes);
#define RUN(name, ...) \
  if (runs(#name)) hipLaunchKernelGGL(name, grid, block, 0, 0, __VA_ARGS__)
  RUN(stride1, in, out);
  RUN(stride2, in, out);
  RUN(stride3, in, out);
  RUN(stride32, in, out);
  RUN(stride33, in, out);
  RUN(misaligned, in, out);
  RUN(broadcast, in, where, out);
  RUN(struct_array, reinterpret_cast<const Pair*>(in), out);
  RUN(array_struct, in, in + kElements / 2, out);
  RUN(lds1, out);
  RUN(lds2, out);
  RUN(lds8, out);
  RUN(lds32, out);
  RUN(lds33, out);
  RUN(divergent, out);
  CHECK(hipDeviceSynchronize());
  return 0;
}
