// Tiled double-precision matrix product with 8 x 8 tiles.
#include "kernels/matmul.h"

void run(int m, int n, int k) {
  check::Rng rng(m + n + k);
  std::vector<double> a(m * k), b(k * n);
  for (double& v : a) v = rng.uniform64(-1, 1);
  for (double& v : b) v = rng.uniform64(-1, 1);
  check::Buffer<double> device_a(a), device_b(b), c(m * n);
  const dim3 grid(check::blocks_for(n, 8), check::blocks_for(m, 8));
  tiled_matmul<8, double, double>
      <<<grid, dim3(8, 8)>>>(device_a.get(), device_b.get(), c.get(), m, n, k);
  check::sync();
  char what[64];
  std::snprintf(what, sizeof what, "%dx%dx%d", m, n, k);
  check::near(what, c.read(), host_matmul(a, b, m, n, k), 0, 1e-13);
}

int main() {
  run(64, 64, 64);
  run(45, 27, 70);
  return check::finish();
}
