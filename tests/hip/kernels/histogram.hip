// Histograms: 256 byte bins in LDS merged into global memory, and a sparse one straight by global
// atomics, on uniform and on heavily skewed input.
#include "check.h"

__global__ void histogram_bytes(const uint8_t* in, unsigned* bins, int count) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[in[i]], 1u);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void histogram_range(const float* in, unsigned long long* bins, int count,
                                int bin_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int bin = static_cast<int>(in[i] * bin_count);
  if (bin >= 0 && bin < bin_count) atomicAdd(&bins[bin], 1ull);
}

int main() {
  const int count = 30011;
  for (bool skewed : {false, true}) {
    check::Rng rng(skewed);
    std::vector<uint8_t> in(count);
    std::vector<unsigned> want(256);
    for (uint8_t& v : in) {
      v = skewed && rng.below(10) != 0 ? 7 : static_cast<uint8_t>(rng.next());
      ++want[v];
    }
    check::Buffer<uint8_t> device_in(in);
    check::Buffer<unsigned> bins(256);
    bins.fill_bytes(0);
    histogram_bytes<<<6, 256>>>(device_in, bins, count);
    check::sync();
    check::equal(skewed ? "skewed bytes" : "uniform bytes", bins.read(), want);
  }
  check::Rng rng(3);
  const int bin_count = 37;
  std::vector<float> in(count);
  std::vector<unsigned long long> want(bin_count);
  for (float& v : in) {
    v = rng.uniform(-0.5f, 1.5f);
    const int bin = static_cast<int>(v * bin_count);
    if (bin >= 0 && bin < bin_count) ++want[bin];
  }
  check::Buffer<float> device_in(in);
  check::Buffer<unsigned long long> bins(bin_count);
  bins.fill_bytes(0);
  histogram_range<<<check::blocks_for(count, 192), 192>>>(device_in, bins, count, bin_count);
  check::sync();
  check::equal("range bins, 64-bit counters", bins.read(), want);
  return check::finish();
}
