// Twelve kernels whose operations and bytes are known by hand, for every level of memory. Each takes (a, b, n, k):
// two buffers of floats, elements, and a count that the compiler does not know. A workgroup has 256 work-items; n is
// the number of work-items, so that nobody is left out. roofline_test.cc has the arithmetic.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define PARAMETERS (float* __restrict__ a, float* __restrict__ b, int n, int k)

static __device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL copy PARAMETERS { b[thread()] = a[thread()]; }

KERNEL copy_float4 PARAMETERS {
  reinterpret_cast<float4*>(b)[thread()] = reinterpret_cast<const float4*>(a)[thread()];
}

KERNEL add PARAMETERS { b[thread()] = a[thread()] + b[thread()]; }

KERNEL triad PARAMETERS { b[thread()] = fmaf(a[thread()], 3.0f, b[thread()]); }

// k dependent multiply-adds for each element.
KERNEL fma_chain PARAMETERS {
  float x = a[thread()];
  for (int i = 0; i < k; ++i) x = fmaf(x, 0.5f, 1.0f);
  b[thread()] = x;
}

KERNEL fma_chain_f64 PARAMETERS {
  double x = reinterpret_cast<const double*>(a)[thread()];
  for (int i = 0; i < k; ++i) x = fma(x, 0.5, 1.0);
  reinterpret_cast<double*>(b)[thread()] = x;
}

// Every other lane works: half the operations, all the instructions.
KERNEL half_lanes PARAMETERS {
  float x = a[thread()];
  if (threadIdx.x & 1)
    for (int i = 0; i < k; ++i) x = fmaf(x, 0.5f, 1.0f);
  b[thread()] = x;
}

// Each work-item reads a line of its own: 64 bytes moved for 4.
KERNEL strided PARAMETERS { b[thread()] = a[thread() * 16]; }

// All waves read the same 1024 bytes, k times.
KERNEL broadcast PARAMETERS {
  float x = 0;
  for (int i = 0; i < k; ++i) x += a[(threadIdx.x + i) & 255];
  b[thread()] = x;
}

// Through LDS: 4 bytes in, k times 4 bytes out.
KERNEL lds_sum PARAMETERS {
  __shared__ float tile[256];
  tile[threadIdx.x] = a[thread()];
  __syncthreads();
  float x = 0;
  for (int i = 0; i < k; ++i) x += tile[(threadIdx.x + i) & 255];
  b[thread()] = x;
}

KERNEL store_only PARAMETERS { b[thread()] = 1.0f; }

KERNEL atomic_add PARAMETERS { atomicAdd(reinterpret_cast<unsigned*>(b) + thread(), 1u); }

// A chain: the address of each load depends on what the one before brought. Bytes n of `a`, all zero, one load every
// 128, are gone through k times. Every lane loads the same; a product that is too small for the shift keeps them
// vector loads.
KERNEL chain PARAMETERS {
  unsigned at = threadIdx.x * static_cast<unsigned>(k) >> 30;
  unsigned value = 0;
  for (int round = 0; round < k; ++round) {
    for (int i = 0; i < n; i += 16 * 128) {
#pragma unroll
      for (int step = 0; step < 16; ++step) {
        value = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(a) + at);
        at += value + 128;
      }
    }
    at = value;
  }
  b[thread()] = __uint_as_float(at);
}
