// Jacobi iteration for a diagonally dominant dense system; the residual norm is reduced on the
// device and drives the host's loop, so a wrong reduction shows as a wrong number of sweeps.
#include "check.h"

__global__ void sweep(const double* a, const double* b, const double* x, double* next,
                      unsigned long long* residual, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double sum = b[row];
  for (int c = 0; c < n; ++c) {
    if (c != row) sum -= a[row * n + c] * x[c];
  }
  sum /= a[row * n + row];
  // The bits of non-negative doubles are ordered like unsigned integers.
  atomicMax(residual, static_cast<unsigned long long>(__double_as_longlong(fabs(sum - x[row]))));
  next[row] = sum;
}

int main() {
  const int n = 96;
  check::Rng rng(15);
  std::vector<double> a(n * n), solution(n), b(n);
  for (double& v : a) v = rng.uniform64(-1, 1);
  for (double& v : solution) v = rng.uniform64(-10, 10);
  for (int i = 0; i < n; ++i) a[i * n + i] = 2.0 * n;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) b[r] += a[r * n + c] * solution[c];
  }
  check::Buffer<double> device_a(a), device_b(b), x(n), y(n);
  x.fill_bytes(0);
  check::Buffer<unsigned long long> residual(1);
  double *from = x, *to = y, change = 1;
  int sweeps = 0;
  while (change > 1e-13 && sweeps < 100) {
    residual.fill_bytes(0);
    sweep<<<check::blocks_for(n, 32), 32>>>(device_a, device_b, from, to, residual, n);
    const unsigned long long bits = residual.read()[0];
    std::memcpy(&change, &bits, sizeof change);
    std::swap(from, to);
    ++sweeps;
  }
  check::sync();
  check::expect(sweeps > 3 && sweeps < 60, "converged after %d sweeps", sweeps);
  check::near("solution", from == x.get() ? x.read() : y.read(), solution, 1e-12, 1e-12);
  return check::finish();
}
