// Causal attention with an online softmax: one block per query row, keys streamed through LDS.
#include <algorithm>

#include "check.h"

constexpr int kDim = 32;
constexpr int kKeys = 32;

__global__ void attention(const float* q, const float* k, const float* v, float* out, int length) {
  __shared__ float keys[kKeys][kDim + 1];
  __shared__ float values[kKeys][kDim + 1];
  const int query = blockIdx.x;
  const int d = threadIdx.x;  // kDim lanes, one output channel each
  float own_q[kDim];
  for (int i = 0; i < kDim; ++i) own_q[i] = q[query * kDim + i] * 0.17677669529f;
  float largest = -INFINITY, sum = 0, result = 0;
  for (int base = 0; base <= query; base += kKeys) {
    for (int j = 0; j < kKeys; ++j) {
      const bool inside = base + j < length;
      keys[j][d] = inside ? k[(base + j) * kDim + d] : 0;
      values[j][d] = inside ? v[(base + j) * kDim + d] : 0;
    }
    __syncthreads();
    const int limit = min(kKeys, query - base + 1);
    for (int j = 0; j < limit; ++j) {
      float score = 0;
      for (int i = 0; i < kDim; ++i) score += own_q[i] * keys[j][i];
      const float new_largest = fmaxf(largest, score);
      const float shrink = expf(largest - new_largest);
      const float weight = expf(score - new_largest);
      sum = sum * shrink + weight;
      result = result * shrink + weight * values[j][d];
      largest = new_largest;
    }
    __syncthreads();
  }
  out[query * kDim + d] = result / sum;
}

int main() {
  const int length = 75;
  check::Rng rng(8);
  std::vector<float> q(length * kDim), k(length * kDim), v(length * kDim);
  for (std::vector<float>* m : {&q, &k, &v}) {
    for (float& x : *m) x = rng.uniform(-2, 2);
  }
  std::vector<double> want(length * kDim);
  for (int i = 0; i < length; ++i) {
    std::vector<double> score(i + 1);
    for (int j = 0; j <= i; ++j) {
      for (int d = 0; d < kDim; ++d) score[j] += double{q[i * kDim + d]} * k[j * kDim + d];
      score[j] /= std::sqrt(double{kDim});
    }
    const double largest = *std::max_element(score.begin(), score.end());
    double sum = 0;
    for (double& s : score) sum += s = std::exp(s - largest);
    for (int j = 0; j <= i; ++j) {
      for (int d = 0; d < kDim; ++d) want[i * kDim + d] += score[j] / sum * v[j * kDim + d];
    }
  }
  check::Buffer<float> device_q(q), device_k(k), device_v(v), out(length * kDim);
  attention<<<length, kDim>>>(device_q, device_k, device_v, out, length);
  check::sync();
  check::near("causal attention", out.read(), want, 1e-4, 1e-5);
  return check::finish();
}
