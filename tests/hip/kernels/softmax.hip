// Row-wise softmax, one block per row: shuffle reductions for the maximum and the sum, expf inside.
#include <algorithm>

#include "check.h"

__device__ float block_reduce(float value, bool maximum) {
  __shared__ float partial[32];
  for (int delta = warpSize / 2; delta > 0; delta /= 2) {
    const float other = __shfl_xor(value, delta);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = value;
  __syncthreads();
  value = partial[0];
  for (unsigned i = 1; i < blockDim.x / warpSize; ++i)
    value = maximum ? fmaxf(value, partial[i]) : value + partial[i];
  __syncthreads();
  return value;
}

__global__ void softmax(const float* in, float* out, int columns) {
  const float* row = in + blockIdx.x * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  largest = block_reduce(largest, true);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
  sum = block_reduce(sum, false);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

int main() {
  const int rows = 23;
  for (int columns : {7, 128, 1000}) {
    check::Rng rng(columns);
    std::vector<float> in(rows * columns);
    for (float& v : in) v = rng.uniform(-20, 20);
    in[3] = -INFINITY;
    std::vector<double> want(in.size());
    for (int r = 0; r < rows; ++r) {
      const auto first = in.begin() + r * columns;
      const double largest = *std::max_element(first, first + columns);
      double sum = 0;
      for (int i = 0; i < columns; ++i) sum += std::exp(first[i] - largest);
      for (int i = 0; i < columns; ++i) want[r * columns + i] = std::exp(first[i] - largest) / sum;
    }
    check::Buffer<float> device_in(in), out(in.size());
    softmax<<<rows, 128>>>(device_in, out, columns);
    check::sync();
    check::near(("rows of " + std::to_string(columns)).c_str(), out.read(), want, 1e-5, 1e-12);
  }
  return check::finish();
}
