// Gauss-Jordan inversion of one small matrix per block, entirely in dynamic LDS.
#include "check.h"

__global__ void invert(const float* in, float* out, int n) {
  extern __shared__ float work[];  // n rows of [matrix | identity], then n multipliers
  const int width = 2 * n;
  float* factor = work + n * width;
  const float* source = in + blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * width; i += blockDim.x) {
    const int row = i / width, column = i % width;
    work[i] = column < n ? source[row * n + column] : (column - n == row ? 1.0f : 0.0f);
  }
  __syncthreads();
  for (int p = 0; p < n; ++p) {
    const float pivot = work[p * width + p];
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += blockDim.x) work[p * width + c] /= pivot;
    for (int r = threadIdx.x; r < n; r += blockDim.x)
      if (r != p) factor[r] = work[r * width + p];
    __syncthreads();
    for (int i = threadIdx.x; i < n * width; i += blockDim.x)
      if (i / width != p) work[i] -= factor[i / width] * work[p * width + i % width];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n * n; i += blockDim.x)
    out[blockIdx.x * n * n + i] = work[(i / n) * width + n + i % n];
}

int main() {
  const int batch = 6;
  for (int n : {1, 7, 24}) {
    check::Rng rng(n);
    std::vector<float> in(batch * n * n);
    for (float& v : in) v = rng.uniform(-1, 1);
    // Diagonally dominant: no pivoting needed.
    for (int b = 0; b < batch; ++b) {
      for (int i = 0; i < n; ++i) in[(b * n + i) * n + i] += n + 1;
    }
    check::Buffer<float> device_in(in), out(in.size());
    invert<<<batch, 96, (2 * n * n + n) * sizeof(float)>>>(device_in, out, n);
    check::sync();
    const std::vector<float> inverse = out.read();
    std::vector<double> product(in.size()), identity(in.size());
    for (int b = 0; b < batch; ++b) {
      for (int r = 0; r < n; ++r) {
        identity[(b * n + r) * n + r] = 1;
        for (int c = 0; c < n; ++c) {
          for (int i = 0; i < n; ++i) {
            product[(b * n + r) * n + c] +=
                double{in[(b * n + r) * n + i]} * inverse[(b * n + i) * n + c];
          }
        }
      }
    }
    check::near((std::to_string(n) + "x" + std::to_string(n) + " times its inverse").c_str(),
                product, identity, 0, 1e-5);
  }
  return check::finish();
}
