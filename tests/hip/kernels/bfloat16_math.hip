// bfloat16 storage with f32 arithmetic: conversions round to nearest even, products accumulate in
// f32.
#include <hip/hip_bfloat16.h>

#include "check.h"

__global__ void to_bfloat16(const float* in, uint16_t* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = hip_bfloat16(in[i]).data;
}

__global__ void multiply_rows(const hip_bfloat16* a, const hip_bfloat16* b, float* out, int n) {
  const int row = blockIdx.x, column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += static_cast<float>(a[row * n + k]) * static_cast<float>(b[k * n + column]);
  out[row * n + column] = sum;
}

__global__ void arithmetic(const hip_bfloat16* a, const hip_bfloat16* b, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[4 * i] = static_cast<float>(a[i] + b[i]);
  out[4 * i + 1] = static_cast<float>(a[i] * b[i]);
  out[4 * i + 2] = static_cast<float>(-a[i]);
  out[4 * i + 3] = a[i] < b[i] ? 1.0f : 0.0f;
}

uint16_t round_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float widen(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

int main() {
  check::Rng rng(6);
  std::vector<float> values = {0.0f,         -0.0f,    1.0f,      1.00390625f, 1.01171875f,
                               -1.00390625f, INFINITY, -INFINITY, 3.4e38f,     1e-40f};
  while (values.size() < 700)
    values.push_back(rng.uniform(-1, 1) * std::exp2(static_cast<float>(rng.below(60)) - 30));
  const int count = static_cast<int>(values.size());
  std::vector<uint16_t> want;
  for (float v : values) want.push_back(round_to_bfloat16(v));
  check::Buffer<float> in(values);
  check::Buffer<uint16_t> out(count);
  to_bfloat16<<<check::blocks_for(count, 256), 256>>>(in, out, count);
  check::sync();
  check::equal("float to bfloat16", out.read(), want);

  const int n = 32;
  std::vector<hip_bfloat16> a(n * n), b(n * n);
  std::vector<float> sums(count * 4);
  std::vector<double> product(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i].data = round_to_bfloat16(static_cast<float>(static_cast<int>(rng.below(17)) - 8));
    b[i].data = round_to_bfloat16(static_cast<float>(static_cast<int>(rng.below(17)) - 8));
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      for (int k = 0; k < n; ++k)
        product[r * n + c] += double{widen(a[r * n + k].data)} * widen(b[k * n + c].data);
    }
  }
  check::Buffer<hip_bfloat16> device_a(a), device_b(b);
  check::Buffer<float> device_product(n * n), results(4 * n * n);
  multiply_rows<<<n, n>>>(device_a, device_b, device_product, n);
  arithmetic<<<n, n>>>(device_a, device_b, results, n * n);
  check::sync();
  check::near("matrix product", device_product.read(), product, 0, 0);
  std::vector<float> want_results;
  for (int i = 0; i < n * n; ++i) {
    const float x = widen(a[i].data), y = widen(b[i].data);
    want_results.insert(want_results.end(),
                        {widen(round_to_bfloat16(x + y)), widen(round_to_bfloat16(x * y)), -x,
                         x < y ? 1.0f : 0.0f});
  }
  check::equal("sum, product, negation, order", results.read(), want_results);
  return check::finish();
}
