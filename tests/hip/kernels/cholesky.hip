// Cholesky factorisation in one block (column by column in LDS, f64 square roots and divisions) and
// triangular solves for several right-hand sides, one lane each.
#include "check.h"

constexpr int kSize = 24;

__global__ void factor(const double* in, double* out) {
  __shared__ double a[kSize][kSize];
  for (int i = threadIdx.x; i < kSize * kSize; i += blockDim.x)
    a[i / kSize][i % kSize] = in[blockIdx.x * kSize * kSize + i];
  __syncthreads();
  for (int k = 0; k < kSize; ++k) {
    if (threadIdx.x == 0) a[k][k] = sqrt(a[k][k]);
    __syncthreads();
    for (int r = k + 1 + threadIdx.x; r < kSize; r += blockDim.x) a[r][k] /= a[k][k];
    __syncthreads();
    for (int i = threadIdx.x; i < kSize * kSize; i += blockDim.x) {
      const int r = i / kSize, c = i % kSize;
      if (c > k && r >= c) a[r][c] -= a[r][k] * a[c][k];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < kSize * kSize; i += blockDim.x) {
    out[blockIdx.x * kSize * kSize + i] = i % kSize <= i / kSize ? a[i / kSize][i % kSize] : 0.0;
  }
}

__global__ void solve(const double* l, const double* b, double* x, int sides) {
  const int side = threadIdx.x;
  if (side >= sides) return;
  const double* factor_l = l + blockIdx.x * kSize * kSize;
  double y[kSize];
  for (int r = 0; r < kSize; ++r) {
    double sum = b[(blockIdx.x * sides + side) * kSize + r];
    for (int c = 0; c < r; ++c) sum -= factor_l[r * kSize + c] * y[c];
    y[r] = sum / factor_l[r * kSize + r];
  }
  for (int r = kSize - 1; r >= 0; --r) {
    double sum = y[r];
    for (int c = r + 1; c < kSize; ++c) sum -= factor_l[c * kSize + r] * y[c];
    y[r] = sum / factor_l[r * kSize + r];
    x[(blockIdx.x * sides + side) * kSize + r] = y[r];
  }
}

int main() {
  const int batch = 4, sides = 37;
  check::Rng rng(24);
  std::vector<double> a(batch * kSize * kSize), b(batch * sides * kSize);
  for (int m = 0; m < batch; ++m) {
    double g[kSize][kSize];
    for (auto& row : g) {
      for (double& v : row) v = rng.uniform64(-1, 1);
    }
    for (int r = 0; r < kSize; ++r) {
      for (int c = 0; c < kSize; ++c) {
        double sum = r == c ? 1 : 0;
        for (int i = 0; i < kSize; ++i) sum += g[r][i] * g[c][i];
        a[(m * kSize + r) * kSize + c] = sum;
      }
    }
  }
  for (double& v : b) v = rng.uniform64(-5, 5);
  check::Buffer<double> device_a(a), l(a.size()), device_b(b), x(b.size());
  factor<<<batch, 64>>>(device_a, l);
  solve<<<batch, 64>>>(l, device_b, x, sides);
  check::sync();
  const std::vector<double> lower = l.read(), result = x.read();
  std::vector<double> rebuilt(a.size()), back(b.size());
  for (int m = 0; m < batch; ++m) {
    for (int r = 0; r < kSize; ++r) {
      for (int c = 0; c < kSize; ++c) {
        for (int i = 0; i < kSize; ++i)
          rebuilt[(m * kSize + r) * kSize + c] +=
              lower[(m * kSize + r) * kSize + i] * lower[(m * kSize + c) * kSize + i];
        for (int s = 0; s < sides; ++s)
          back[(m * sides + s) * kSize + r] +=
              a[(m * kSize + r) * kSize + c] * result[(m * sides + s) * kSize + c];
      }
    }
  }
  check::near("L * L^T", rebuilt, a, 0, 1e-12);
  check::near("A * x", back, b, 0, 1e-10);
  return check::finish();
}
