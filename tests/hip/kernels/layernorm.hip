// Layer normalisation with Welford's running mean and variance merged across lanes.
#include "check.h"

struct Moments {
  float mean, square, weight;
};

__device__ Moments merge(Moments a, Moments b) {
  const float weight = a.weight + b.weight;
  if (weight == 0) return a;
  const float delta = b.mean - a.mean;
  const float share = b.weight / weight;
  return {a.mean + delta * share, a.square + b.square + delta * delta * a.weight * share, weight};
}

// One wave per row.
__global__ void layernorm(const float* in, const float* gain, const float* bias, float* out,
                          int columns) {
  const float* row = in + blockIdx.x * columns;
  Moments m = {0, 0, 0};
  for (int i = threadIdx.x; i < columns; i += warpSize) m = merge(m, {row[i], 0, 1});
  for (int delta = 1; delta < warpSize; delta *= 2) {
    m = merge(
        m, {__shfl_xor(m.mean, delta), __shfl_xor(m.square, delta), __shfl_xor(m.weight, delta)});
  }
  const float scale = rsqrtf(m.square / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += warpSize) {
    out[blockIdx.x * columns + i] = (row[i] - m.mean) * scale * gain[i] + bias[i];
  }
}

int main() {
  const int rows = 19;
  for (int columns : {5, 64, 777}) {
    check::Rng rng(columns);
    std::vector<float> in(rows * columns), gain(columns), bias(columns);
    for (float& v : in) v = rng.uniform(90, 110);
    for (float& v : gain) v = rng.uniform(0.5, 2);
    for (float& v : bias) v = rng.uniform(-1, 1);
    std::vector<double> want(in.size());
    for (int r = 0; r < rows; ++r) {
      double mean = 0, variance = 0;
      for (int i = 0; i < columns; ++i) mean += in[r * columns + i];
      mean /= columns;
      for (int i = 0; i < columns; ++i) variance += std::pow(in[r * columns + i] - mean, 2);
      for (int i = 0; i < columns; ++i) {
        want[r * columns + i] =
            (in[r * columns + i] - mean) / std::sqrt(variance / columns + 1e-5) * gain[i] + bias[i];
      }
    }
    check::Buffer<float> device_in(in), device_gain(gain), device_bias(bias), out(in.size());
    layernorm<<<rows, check::wave_size()>>>(device_in, device_gain, device_bias, out, columns);
    check::sync();
    check::near(("rows of " + std::to_string(columns)).c_str(), out.read(), want, 1e-4, 1e-4);
  }
  return check::finish();
}
