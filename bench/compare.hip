// kernels.inc through HIP. Prints "NAME SECONDS" lines, the best of a few repetitions each.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <vector>

#include "compare.h"
#include "kernels.inc"

#define CHECK(call)                                                               \
  do {                                                                            \
    const hipError_t error = (call);                                              \
    if (error != hipSuccess) {                                                    \
      std::fprintf(stderr, "compare: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

static float* to_device(const std::vector<float>& host) {
  float* device = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(float)));
  CHECK(hipMemcpy(device, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
  return device;
}

template <class Launch>
static double best_of(Launch launch) {
  double best = 1e30;
  const double began = seconds_now();
  for (int i = 0; goes_on(i, began); ++i) {
    const double start = seconds_now();
    launch();
    CHECK(hipDeviceSynchronize());
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

static void bench_matmul() {
  const int count = kMatmulSize * kMatmulSize;
  std::vector<float> a(count), b(count), c(count);
  for (int i = 0; i < count; ++i) a[i] = matmul_input(i, 1), b[i] = matmul_input(i, 5);
  float *da = to_device(a), *db = to_device(b), *dc = to_device(c);
  const double seconds = best_of([&] {
    matmul<<<dim3(kMatmulSize / TILE, kMatmulSize / TILE), dim3(TILE, TILE)>>>(da, db, dc,
                                                                               kMatmulSize);
  });
  CHECK(hipMemcpy(c.data(), dc, count * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dc));
  report("matmul", seconds, check_matmul(a.data(), b.data(), c.data()));
}

static void bench_stream() {
  using Kernel = void (*)(float*, const float*, const float*, float);
  constexpr Kernel kKernels[kStreamKernels] = {stream_copy, stream_scale, stream_add, stream_triad};
  std::vector<float> a(kStreamSize), b(kStreamSize), c(kStreamSize);
  for (int i = 0; i < kStreamSize; ++i) b[i] = stream_input(i), c[i] = stream_input(i + 1);
  float *da = to_device(a), *db = to_device(b), *dc = to_device(c);
  for (int k = 0; k < kStreamKernels; ++k) {
    const double seconds =
        best_of([&] { kKernels[k]<<<kStreamSize / 256, 256>>>(da, db, dc, kStreamScalar); });
    CHECK(hipMemcpy(a.data(), da, kStreamSize * sizeof(float), hipMemcpyDeviceToHost));
    report(kStreamNames[k], seconds, check_stream(k, a.data()));
  }
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dc));
}

int main() {
  bench_matmul();
  bench_stream();
  return 0;
}
