// The matrix product of kernels.inc by OpenBLAS, on all cores: what a tuned library makes of this machine.
// Same sizes, inputs, check and output as compare.hip.
#include <cblas.h>

#include "compare.h"

int main(void) {
  const int n = kMatmulSize;
  float* a = malloc(sizeof(float) * n * n);
  float* b = malloc(sizeof(float) * n * n);
  float* c = calloc((size_t)n * n, sizeof(float));
  for (int i = 0; i < n * n; ++i) a[i] = matmul_input(i, 1), b[i] = matmul_input(i, 5);
  double best = 1e30;
  const double began = seconds_now();
  for (int i = 0; goes_on(i, began); ++i) {
    const double start = seconds_now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    const double seconds = seconds_now() - start;
    if (seconds < best) best = seconds;
  }
  report("matmul", best, check_matmul(a, b, c));
  free(a);
  free(b);
  free(c);
  return 0;
}
