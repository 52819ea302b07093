// Convolutions with filters in __constant__ memory: 1-D causal, 2-D with clamped borders, and a
// separable pair of passes that must agree with the 2-D one.
#include <algorithm>

#include "check.h"

constexpr int kRadius = 3;
constexpr int kTaps = 2 * kRadius + 1;
__constant__ float g_filter_1d[kTaps];
__constant__ float g_filter_2d[kTaps * kTaps];

__global__ void convolve_1d(const float* in, float* out, int count) {
  extern __shared__ float window[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  window[threadIdx.x + kTaps - 1] = i < count ? in[i] : 0;
  if (threadIdx.x < kTaps - 1) {
    const int early = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) - (kTaps - 1);
    window[threadIdx.x] = early >= 0 ? in[early] : 0;
  }
  __syncthreads();
  if (i >= count) return;
  float sum = 0;
  for (int tap = 0; tap < kTaps; ++tap)
    sum += g_filter_1d[tap] * window[threadIdx.x + kTaps - 1 - tap];
  out[i] = sum;
}

__device__ int clamp_to(int value, int limit) { return min(max(value, 0), limit - 1); }

__global__ void convolve_2d(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -kRadius; dy <= kRadius; ++dy) {
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      sum += g_filter_2d[(dy + kRadius) * kTaps + dx + kRadius] *
             in[clamp_to(y + dy, height) * width + clamp_to(x + dx, width)];
    }
  }
  out[y * width + x] = sum;
}

__global__ void convolve_axis(const float* in, float* out, int width, int height, int step_x,
                              int step_y) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int d = -kRadius; d <= kRadius; ++d) {
    sum += g_filter_1d[d + kRadius] *
           in[clamp_to(y + d * step_y, height) * width + clamp_to(x + d * step_x, width)];
  }
  out[y * width + x] = sum;
}

int main() {
  std::vector<float> filter(kTaps), filter_2d(kTaps * kTaps);
  for (int i = 0; i < kTaps; ++i) filter[i] = std::exp(-0.3f * (i - kRadius) * (i - kRadius));
  for (int y = 0; y < kTaps; ++y) {
    for (int x = 0; x < kTaps; ++x) filter_2d[y * kTaps + x] = filter[y] * filter[x];
  }
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_filter_1d), filter.data(), kTaps * sizeof(float)));
  WT_HIP(hipMemcpyToSymbol(HIP_SYMBOL(g_filter_2d), filter_2d.data(),
                           filter_2d.size() * sizeof(float)));

  check::Rng rng(5);
  const int count = 3000;
  std::vector<float> signal(count);
  std::vector<double> want(count);
  for (float& v : signal) v = rng.uniform(-1, 1);
  for (int i = 0; i < count; ++i) {
    for (int tap = 0; tap < kTaps && tap <= i; ++tap)
      want[i] += double{filter[tap]} * signal[i - tap];
  }
  check::Buffer<float> in(signal), out(count);
  convolve_1d<<<check::blocks_for(count, 128), 128, (128 + kTaps - 1) * sizeof(float)>>>(in, out,
                                                                                         count);
  check::sync();
  check::near("1-D causal", out.read(), want, 0, 1e-5);

  const int width = 61, height = 43;
  std::vector<float> image(width * height);
  std::vector<double> want_2d(image.size());
  for (float& v : image) v = rng.uniform(0, 1);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int dy = -kRadius; dy <= kRadius; ++dy) {
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
          want_2d[y * width + x] +=
              double{filter_2d[(dy + kRadius) * kTaps + dx + kRadius]} *
              image[std::clamp(y + dy, 0, height - 1) * width + std::clamp(x + dx, 0, width - 1)];
        }
      }
    }
  }
  const dim3 block(16, 8), grid(check::blocks_for(width, 16), check::blocks_for(height, 8));
  check::Buffer<float> image_in(image), image_middle(image.size()), image_out(image.size());
  convolve_2d<<<grid, block>>>(image_in, image_out, width, height);
  check::sync();
  check::near("2-D", image_out.read(), want_2d, 0, 1e-5);
  image_out.fill_bytes(0);
  convolve_axis<<<grid, block>>>(image_in, image_middle, width, height, 1, 0);
  convolve_axis<<<grid, block>>>(image_middle, image_out, width, height, 0, 1);
  check::sync();
  check::near("separable", image_out.read(), want_2d, 0, 1e-4);
  return check::finish();
}
