// Tiled matrix product C[m][n] = A[m][k] * B[k][n] through LDS, for any shape: tiles that reach
// over the edge are padded with zeros. Shared by the f32, f64 and f16 programs.
#pragma once

#include "check.h"

template <int kTile, class T, class Accumulator>
__global__ void tiled_matmul(const T* a, const T* b, T* c, int m, int n, int k) {
  // The extra column keeps the column reads of the second factor off one LDS bank.
  __shared__ T tile_a[kTile][kTile];
  __shared__ T tile_b[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  Accumulator sum = 0;
  for (int base = 0; base < k; base += kTile) {
    const int a_column = base + threadIdx.x;
    const int b_row = base + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : T(0);
    tile_b[threadIdx.y][threadIdx.x] = column < n && b_row < k ? b[b_row * n + column] : T(0);
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      sum += Accumulator(tile_a[threadIdx.y][i]) * Accumulator(tile_b[i][threadIdx.x]);
    }
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = T(sum);
}

template <class T>
std::vector<double> host_matmul(const std::vector<T>& a, const std::vector<T>& b, int m, int n,
                                int k) {
  std::vector<double> c(static_cast<size_t>(m) * n);
  for (int row = 0; row < m; ++row) {
    for (int i = 0; i < k; ++i) {
      const double factor = static_cast<double>(a[row * k + i]);
      for (int column = 0; column < n; ++column) {
        c[row * n + column] += factor * static_cast<double>(b[i * n + column]);
      }
    }
  }
  return c;
}
