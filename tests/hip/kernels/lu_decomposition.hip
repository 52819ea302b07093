// LU decomposition with partial pivoting: pivot search by block reduction, one launch per column.
#include "check.h"

__global__ void find_pivot(const double* a, int n, int column, int* pivot) {
  __shared__ double size[128];
  __shared__ int where[128];
  double best = -1;
  int best_row = column;
  for (int r = column + threadIdx.x; r < n; r += blockDim.x) {
    const double candidate = fabs(a[r * n + column]);
    if (candidate > best) {
      best = candidate;
      best_row = r;
    }
  }
  size[threadIdx.x] = best;
  where[threadIdx.x] = best_row;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) {
      const int other = threadIdx.x + half;
      const bool better = size[other] > size[threadIdx.x] ||
                          (size[other] == size[threadIdx.x] && where[other] < where[threadIdx.x]);
      if (better) {
        size[threadIdx.x] = size[other];
        where[threadIdx.x] = where[other];
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) pivot[column] = where[0];
}

__global__ void swap_rows(double* a, int n, int column, const int* pivot) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int other = pivot[column];
  if (c >= n || other == column) return;
  const double kept = a[column * n + c];
  a[column * n + c] = a[other * n + c];
  a[other * n + c] = kept;
}

__global__ void scale_column(double* a, int n, int column) {
  const int r = column + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) a[r * n + column] /= a[column * n + column];
}

__global__ void eliminate(double* a, int n, int column) {
  const int c = column + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  const int r = column + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (r < n && c < n) a[r * n + c] -= a[r * n + column] * a[column * n + c];
}

int main() {
  const int n = 45;
  check::Rng rng(6);
  std::vector<double> a(n * n);
  for (double& v : a) v = rng.uniform64(-1, 1);
  check::Buffer<double> device(a);
  check::Buffer<int> pivot(n);
  pivot.fill_bytes(0xff);
  for (int column = 0; column < n; ++column) {
    find_pivot<<<1, 128>>>(device, n, column, pivot);
    swap_rows<<<1, 64>>>(device, n, column, pivot);
    scale_column<<<1, 64>>>(device, n, column);
    eliminate<<<dim3(check::blocks_for(n, 16), check::blocks_for(n, 8)), dim3(16, 8)>>>(device, n,
                                                                                        column);
  }
  check::sync();
  const std::vector<double> lu = device.read();
  const std::vector<int> swaps = pivot.read();

  bool pivoted = true;
  for (int c = 0; c < n; ++c) {
    for (int r = c + 1; r < n; ++r) pivoted = pivoted && std::fabs(lu[r * n + c]) <= 1.0;
  }
  check::expect(pivoted, "no multiplier exceeds one");
  std::vector<double> permuted = a, product(n * n);
  for (int c = 0; c < n; ++c) {
    if (!check::expect(swaps[c] >= c && swaps[c] < n, "pivot of column %d is row %d", c, swaps[c]))
      return check::finish();
    for (int i = 0; i < n; ++i) std::swap(permuted[c * n + i], permuted[swaps[c] * n + i]);
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      double sum = r <= c ? lu[r * n + c] : 0;
      for (int i = 0; i < std::min(r, c + 1); ++i) sum += lu[r * n + i] * lu[i * n + c];
      product[r * n + c] = sum;
    }
  }
  check::near("L * U equals the permuted matrix", product, permuted, 0, 1e-12);
  return check::finish();
}
