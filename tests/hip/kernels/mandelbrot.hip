// Mandelbrot iteration counts: data-dependent loop exits in every lane. Contraction is off on both
// sides, so the counts must be identical.
#include "check.h"

template <class T>
__host__ __device__ int iterations(T cx, T cy, int limit) {
#pragma clang fp contract(off)
  T x = 0, y = 0;
  int i = 0;
  while (x * x + y * y < T(4) && i < limit) {
    const T next = (x * x - y * y) + cx;
    y = (T(2) * x) * y + cy;
    x = next;
    ++i;
  }
  return i;
}

template <class T>
__host__ __device__ int pixel(int px, int py, int width, int height) {
#pragma clang fp contract(off)
  const T cx = T(px) * (T(3) / T(width)) - T(2);
  const T cy = T(py) * (T(2) / T(height)) - T(1);
  return iterations(cx, cy, 200);
}

template <class T>
__global__ void mandelbrot(int* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = pixel<T>(x, y, width, height);
}

template <class T>
void run(const char* what) {
  const int width = 100, height = 70;
  std::vector<int> want(width * height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) want[y * width + x] = pixel<T>(x, y, width, height);
  }
  check::Buffer<int> out(width * height);
  mandelbrot<T>
      <<<dim3(check::blocks_for(width, 16), check::blocks_for(height, 16)), dim3(16, 16)>>>(
          out, width, height);
  check::sync();
  check::equal(what, out.read(), want);
}

int main() {
  run<float>("float");
  run<double>("double");
  return check::finish();
}
