// Matrix tiles for generated kernels: MFMA and WMMA where the target has them, through LDS
// elsewhere. Every 64 lanes are a tile, whatever the size of a wave. Values are small integers, so
// every sum is exact.
#pragma once

#include "special.h"

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
#define WT_HAS_MFMA 1
#elif defined(__gfx1100__)
#define WT_HAS_WMMA 1
#endif

// --- A tile of complex numbers, 16 x 16 x 4, as Tensile's kernels multiply them: four matrix
// --- instructions, one with a negated operand.

struct Complex {
  int re, im;
};
WT_BOTH inline Complex tile_value(uint32_t bits) {
  return {static_cast<int>(bits & 15) - 8, static_cast<int>(bits >> 4 & 15) - 8};
}
// What one lane gets of the product: row 4 * (lane / 16) + r, column lane % 16, for r = 0 to 3.
template <class A, class B>
WT_BOTH inline float tile_by_hand(int lane, A a_of, B b_of) {
  float folded = 0;
  for (int r = 0; r < 4; ++r) {
    int re = 0, im = 0;
    for (int k = 0; k < 4; ++k) {
      const Complex a = tile_value(a_of(4 * (lane / 16) + r + 16 * k));
      const Complex b = tile_value(b_of(lane % 16 + 16 * k));
      re += a.re * b.re - a.im * b.im;
      im += a.im * b.re + a.re * b.im;
    }
    folded += static_cast<float>((r + 1) * re - (r + 2) * im);
  }
  return folded;
}

#if defined(WT_HAS_MFMA) && defined(__HIP_DEVICE_COMPILE__)
typedef float Accumulator __attribute__((ext_vector_type(4)));
__device__ inline float tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t*) {
  const Complex a = tile_value(a_bits), b = tile_value(b_bits);
  const float ar = static_cast<float>(a.re), ai = static_cast<float>(a.im);
  const float br = static_cast<float>(b.re), bi = static_cast<float>(b.im);
  Accumulator re = {}, im = {};
  re = __builtin_amdgcn_mfma_f32_16x16x4f32(ar, br, re, 0, 0, 0);
  im = __builtin_amdgcn_mfma_f32_16x16x4f32(ai, br, im, 0, 0, 0);
  re = __builtin_amdgcn_mfma_f32_16x16x4f32(-ai, bi, re, 0, 0, 0);
  im = __builtin_amdgcn_mfma_f32_16x16x4f32(ar, bi, im, 0, 0, 0);
  float folded = 0;
  for (int r = 0; r < 4; ++r)
    folded += static_cast<float>(r + 1) * re[r] - static_cast<float>(r + 2) * im[r];
  return folded;
}
#elif defined(__HIP_DEVICE_COMPILE__)
// Through LDS, two words per lane; every 64 lanes are a tile.
__device__ inline float tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t* lds) {
  const int lane = threadIdx.x % 64, first = threadIdx.x - lane;
  lds[2 * threadIdx.x] = a_bits;
  lds[2 * threadIdx.x + 1] = b_bits;
  __syncthreads();
  const float folded = tile_by_hand(
      lane, [&](int from) { return lds[2 * (first + from)]; },
      [&](int from) { return lds[2 * (first + from) + 1]; });
  __syncthreads();
  return folded;
}
#else
__device__ float tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t* lds);
#endif

// --- A tile of halves, 16 x 16 x 16. A lane brings four values of a row of A and of a column of B,
// --- and gets a weighted sum of column lane % 16 of the product.

WT_BOTH inline int half_tile_value(uint32_t bits, int i) {
  return static_cast<int>(bits >> 4 * i & 15) - 8;
}
template <class A, class B>
WT_BOTH inline float half_tile_by_hand(int lane, A a_of, B b_of) {
  int folded = 0;
  for (int k = 0; k < 16; ++k) {
    int column = 0;
    for (int row = 0; row < 16; ++row)
      column += (row + 1) * half_tile_value(a_of(row + 16 * (k / 4)), k % 4);
    folded += column * half_tile_value(b_of(lane % 16 + 16 * (k / 4)), k % 4);
  }
  return static_cast<float>(folded);
}

#if defined(__HIP_DEVICE_COMPILE__)
__device__ inline void share_tile(uint32_t a_bits, uint32_t b_bits, uint32_t* lds) {
  lds[2 * threadIdx.x] = a_bits;
  lds[2 * threadIdx.x + 1] = b_bits;
  __syncthreads();
}
#endif

#if defined(WT_HAS_MFMA) && defined(__HIP_DEVICE_COMPILE__)
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
__device__ inline float half_tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t*) {
  Half4 a, b;
  for (int i = 0; i < 4; ++i) {
    a[i] = static_cast<_Float16>(half_tile_value(a_bits, i));
    b[i] = static_cast<_Float16>(half_tile_value(b_bits, i));
  }
  const Accumulator sums = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, Accumulator{}, 0, 0, 0);
  float folded = 0;
  for (int r = 0; r < 4; ++r)
    folded += static_cast<float>(threadIdx.x % 64 / 16 * 4 + r + 1) * sums[r];
  folded += __shfl_xor(folded, 16, 64);
  return folded + __shfl_xor(folded, 32, 64);
}
#elif defined(WT_HAS_WMMA) && defined(__HIP_DEVICE_COMPILE__)
// Each wave of 32 multiplies the whole tile; its halves hold every other row of the product.
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef float Accumulator8 __attribute__((ext_vector_type(8)));
__device__ inline float half_tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t* lds) {
  share_tile(a_bits, b_bits, lds);
  const int first = threadIdx.x / 64 * 64 + threadIdx.x % 16;
  Half16 a, b;
  for (int k = 0; k < 16; ++k) {
    const int from = 2 * (first + 16 * (k / 4));
    a[k] = static_cast<_Float16>(half_tile_value(lds[from], k % 4));
    b[k] = static_cast<_Float16>(half_tile_value(lds[from + 1], k % 4));
  }
  const Accumulator8 sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, Accumulator8{});
  float folded = 0;
  for (int r = 0; r < 8; ++r)
    folded += static_cast<float>(2 * r + static_cast<int>(threadIdx.x % 32 / 16) + 1) * sums[r];
  folded += __shfl_xor(folded, 16, 32);
  __syncthreads();
  return folded;
}
#elif defined(__HIP_DEVICE_COMPILE__)
__device__ inline float half_tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t* lds) {
  share_tile(a_bits, b_bits, lds);
  const int first = threadIdx.x / 64 * 64;
  const float folded = half_tile_by_hand(
      threadIdx.x % 64, [&](int from) { return lds[2 * (first + from)]; },
      [&](int from) { return lds[2 * (first + from) + 1]; });
  __syncthreads();
  return folded;
}
#else
__device__ float half_tile_product(uint32_t a_bits, uint32_t b_bits, uint32_t* lds);
#endif
