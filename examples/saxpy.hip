// y = a*x + y: the smallest complete HIP program.
//
//   hipcc --offload-arch=gfx1030 saxpy.hip -o saxpy
//   wavetap run --gpu rx6800xt -- ./saxpy
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                             \
  do {                                                                          \
    const hipError_t error = (call);                                            \
    if (error != hipSuccess) {                                                  \
      std::fprintf(stderr, "saxpy: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 1 << 20;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = 1.0f;
  }
  float *device_x = nullptr, *device_y = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device_x), n * sizeof(float)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&device_y), n * sizeof(float)));
  CHECK(hipMemcpy(device_x, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(device_y, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, device_x, device_y);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(y.data(), device_y, n * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(device_x));
  CHECK(hipFree(device_y));

  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 2.0f * x[i] + 1.0f;
  std::printf("saxpy: %d elements, %d wrong\n", n, wrong);
  return wrong == 0 ? 0 : 1;
}
