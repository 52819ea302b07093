// Tiled single-precision matrix product: exact on small integers, within rounding on random values.
#include "kernels/matmul.h"

void run(int m, int n, int k, bool integers) {
  check::Rng rng(m * 31 + n * 7 + k);
  std::vector<float> a(m * k), b(k * n);
  for (float& v : a) v = integers ? static_cast<float>(rng.below(9)) - 4 : rng.uniform(-1, 1);
  for (float& v : b) v = integers ? static_cast<float>(rng.below(9)) - 4 : rng.uniform(-1, 1);
  check::Buffer<float> device_a(a), device_b(b), c(m * n);
  const dim3 grid(check::blocks_for(n, 16), check::blocks_for(m, 16));
  tiled_matmul<16, float, float>
      <<<grid, dim3(16, 16)>>>(device_a.get(), device_b.get(), c.get(), m, n, k);
  check::sync();
  char what[64];
  std::snprintf(what, sizeof what, "%dx%dx%d %s", m, n, k, integers ? "integers" : "reals");
  check::near(what, c.read(), host_matmul(a, b, m, n, k), 0, integers ? 0 : 1e-5);
}

int main() {
  run(96, 96, 96, true);
  run(96, 96, 96, false);
  run(50, 33, 71, true);
  run(1, 17, 129, false);
  return check::finish();
}
