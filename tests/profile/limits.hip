// One kernel for each thing that can limit a kernel, and the same work without it (`fixed_`). Every
// kernel takes (float* a, float* b, int n, int iterations); limits_test.cc runs them and asks what
// limits each.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define PARAMETERS (float* __restrict__ a, float* __restrict__ b, int n, int iterations)

static __device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// --- Resources.

KERNEL vector_alu PARAMETERS {
  float x = a[thread()], y = x + 1, z = x + 2, w = x + 3;
#pragma unroll 4
  for (int i = 0; i < iterations; ++i) {
    x = fmaf(x, 1.5f, 0.25f);
    y = fmaf(y, 1.5f, 0.25f);
    z = fmaf(z, 1.5f, 0.25f);
    w = fmaf(w, 1.5f, 0.25f);
  }
  b[thread()] = x + y + z + w;
}

#if defined(__gfx90a__) || defined(__gfx942__)
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
KERNEL matrix PARAMETERS {
  half4 x = {1, 2, 3, 4};
  float16 sum = {};
  for (int i = 0; i < iterations; ++i)
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, x, sum, 0, 0, 0);
  b[thread()] = sum[0] + sum[15];
}
#endif

KERNEL scalar PARAMETERS {
  unsigned x = n, y = iterations;
  for (int i = 0; i < iterations; ++i) {
    x = x * 1664525u + 1013904223u;
    y = (y << 5) ^ (y >> 7) ^ x;
    x = (x << 3) ^ (y >> 11);
    y = y * 22695477u + x;
  }
  if (threadIdx.x == 0) b[blockIdx.x] = x + y;
}

KERNEL lds PARAMETERS {
  __shared__ float4 tile[512];
  tile[threadIdx.x] = make_float4(threadIdx.x, 1, 2, 3);
  tile[threadIdx.x + 256] = make_float4(threadIdx.x, 4, 5, 6);
  __syncthreads();
  float4 sum = {};
#pragma unroll 8
  for (int i = 0; i < iterations; ++i) {
    const float4 v = tile[(threadIdx.x + i * 8) & 511];
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
  }
  b[thread()] = sum.x + sum.y + sum.z + sum.w;
}

KERNEL l1 PARAMETERS {
  const float2* from = reinterpret_cast<const float2*>(a);
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < iterations; ++i) {
    const float2 v = from[(threadIdx.x + i * 16) & 1023];
    sum += v.x + v.y;
  }
  b[thread()] = sum;
}

// Blocks of 1 KiB in no order, from 1 MiB: too much for an L1, little for an L2.
KERNEL l2 PARAMETERS {
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < iterations; ++i)
    sum += a[((blockIdx.x * 7919u + i * 104729u) & 1023u) * 256 + threadIdx.x];
  b[thread()] = sum;
}

// Each workgroup reads its part of `n` values again and again; together they are more than an L2.
KERNEL infinity_cache PARAMETERS {
  const float4* from = reinterpret_cast<const float4*>(a);
  const int part = n / 4 / gridDim.x;
  float sum = 0;
  for (int i = 0; i < iterations; ++i)
#pragma unroll 4
    for (int at = threadIdx.x; at < part; at += 256) {
      const float4 v = from[blockIdx.x * part + at];
      sum += v.x + v.y + v.z + v.w + i;
    }
  b[thread()] = sum;
}

KERNEL memory PARAMETERS {
  reinterpret_cast<float4*>(b)[thread()] = reinterpret_cast<const float4*>(a)[thread()];
}

KERNEL latency PARAMETERS {
  int at = 0;
  for (int i = 0; i < iterations; ++i)
    at = reinterpret_cast<volatile int*>(a)[(at + i * 97 + blockIdx.x * 32) & 16383];
  b[thread()] = at;
}
KERNEL fixed_latency PARAMETERS {
  int sum = 0;
  for (int i = 0; i < iterations; i += 16) {
    int v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k)
      v[k] = reinterpret_cast<int*>(a)[((i + k) * 97 + blockIdx.x * 32) & 16383];
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += v[k];
  }
  b[thread()] = sum;
}

KERNEL launch PARAMETERS { b[thread()] = a[thread()]; }

// --- Causes.

KERNEL occupancy PARAMETERS {
  __shared__ int tile[8192];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int at = tile[(threadIdx.x * 7) & 255];
  for (int i = 0; i < iterations; ++i)
    at = reinterpret_cast<volatile int*>(a)[(at + i * 97 + blockIdx.x * 32) & 16383 & ~63] +
         (threadIdx.x & 31);
  b[thread()] = at + tile[at & 8191];
}
KERNEL fixed_occupancy PARAMETERS {
  __shared__ int tile[256];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int at = tile[(threadIdx.x * 7) & 255];
  for (int i = 0; i < iterations; ++i)
    at = reinterpret_cast<volatile int*>(a)[(at + i * 97 + blockIdx.x * 32) & 16383 & ~63] +
         (threadIdx.x & 31);
  b[thread()] = at + tile[at & 255];
}

KERNEL divergence PARAMETERS {
  float x = a[thread()];
  if ((threadIdx.x & 7) == 0)
#pragma unroll 16
    for (int i = 0; i < iterations; ++i) x = fmaf(x, x, 0.25f);
  b[thread()] = x;
}
KERNEL fixed_divergence PARAMETERS {
  float x = a[thread()];
#pragma unroll 16
  for (int i = 0; i < iterations / 8; ++i) x = fmaf(x, x, 0.25f);
  b[thread()] = x;
}

template <int kPitch>
static __device__ void columns(float* b, int iterations) {
  __shared__ float tile[256 * kPitch];
  for (int i = threadIdx.x; i < 256 * kPitch; i += 256) tile[i] = i;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < iterations; ++i) {
    int at = threadIdx.x * kPitch + (i & 31);
    // Read one by one: a compiler that reads four at once leaves a quarter of the conflicts.
    asm("" : "+v"(at));
    sum += tile[at];
  }
  b[thread()] = sum;
}
KERNEL bank_conflicts PARAMETERS { columns<32>(b, iterations); }
KERNEL fixed_bank_conflicts PARAMETERS { columns<33>(b, iterations); }

KERNEL coalescing PARAMETERS {
  b[thread()] = a[(thread() * 32) & (n - 1)] + a[(thread() * 32 + 64) & (n - 1)];
}
KERNEL fixed_coalescing PARAMETERS {
  b[thread()] = a[thread() & (n - 1)] + a[(thread() + 64) & (n - 1)];
}

KERNEL spills PARAMETERS {
  float table[64];
  for (int i = 0; i < 64; ++i) table[i] = i + a[thread()];
  for (int i = 0; i < iterations; ++i) {
    const int at = (i * 13 + n + threadIdx.x) & 63;
    table[at] = table[at] + table[(at + 17) & 63];
  }
  b[thread()] = table[n & 63];
}
KERNEL fixed_spills PARAMETERS {
  float x = a[thread()], y = x + 1;
  for (int i = 0; i < iterations; ++i) {
    x = x + y;
    y = y + x;
  }
  b[thread()] = x + y;
}
