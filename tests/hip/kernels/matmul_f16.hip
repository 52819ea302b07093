// Half-precision matrix products: accumulated in f32 through the tiled kernel, and in packed f16
// with __hfma2. The inputs are small integers, so every partial sum is exact in either format.
#include <hip/hip_fp16.h>

#include "kernels/matmul.h"

// Two neighbouring columns per lane: c[row][2j], c[row][2j+1].
__global__ void packed_matmul(const __half* a, const __half2* b, __half2* c, int m, int half_n,
                              int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || pair >= half_n) return;
  __half2 sum = __float2half2_rn(0.0f);
  for (int i = 0; i < k; ++i) {
    sum = __hfma2(__half2half2(a[row * k + i]), b[i * half_n + pair], sum);
  }
  c[row * half_n + pair] = sum;
}

int main() {
  const int m = 40, n = 52, k = 45;
  check::Rng rng(16);
  std::vector<_Float16> a(m * k), b(k * n);
  for (_Float16& v : a) v = static_cast<_Float16>(static_cast<int>(rng.below(7)) - 3);
  for (_Float16& v : b) v = static_cast<_Float16>(static_cast<int>(rng.below(7)) - 3);
  const std::vector<double> want = host_matmul(a, b, m, n, k);

  check::Buffer<_Float16> device_a(a), device_b(b), c(m * n);
  tiled_matmul<16, _Float16, float>
      <<<dim3(check::blocks_for(n, 16), check::blocks_for(m, 16)), dim3(16, 16)>>>(
          device_a.get(), device_b.get(), c.get(), m, n, k);
  check::sync();
  check::near("f32 accumulation", c.read(), want, 0, 0);

  c.fill_bytes(0xff);
  packed_matmul<<<dim3(check::blocks_for(n / 2, 8), check::blocks_for(m, 8)), dim3(8, 8)>>>(
      reinterpret_cast<const __half*>(device_a.get()),
      reinterpret_cast<const __half2*>(device_b.get()), reinterpret_cast<__half2*>(c.get()), m,
      n / 2, k);
  check::sync();
  check::near("packed f16 accumulation", c.read(), want, 0, 0);
  return check::finish();
}
