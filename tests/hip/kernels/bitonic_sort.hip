// Bitonic sort: whole network in LDS for one tile, global passes for the long strides.
#include <algorithm>

#include "check.h"

template <class T>
__global__ void sort_tile(T* data, bool whole_descending) {
  __shared__ T tile[512];
  T* base = data + blockIdx.x * 512;
  for (int i = threadIdx.x; i < 512; i += blockDim.x) tile[i] = base[i];
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      const bool descending =
          (size == 512 ? whole_descending && (blockIdx.x & 1) : (low & size) != 0);
      const T a = tile[low], b = tile[low + stride];
      if ((a > b) != descending) {
        tile[low] = b;
        tile[low + stride] = a;
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < 512; i += blockDim.x) base[i] = tile[i];
}

template <class T>
__global__ void global_pass(T* data, int size, int stride) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int low = 2 * t - (t & (stride - 1));
  const bool descending = (low & size) != 0;
  const T a = data[low], b = data[low + stride];
  if ((a > b) != descending) {
    data[low] = b;
    data[low + stride] = a;
  }
}

template <class T>
void run(const char* name, int count) {
  check::Rng rng(count);
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(rng.uniform64(-1e6, 1e6));
  check::Buffer<T> device(values);
  sort_tile<<<count / 512, 256>>>(device.get(), true);
  for (int size = 1024; size <= count; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      global_pass<<<count / 2 / 256, 256>>>(device.get(), size, stride);
    }
  }
  check::sync();
  std::sort(values.begin(), values.end());
  check::equal((std::string(name) + " x " + std::to_string(count)).c_str(), device.read(), values);
}

int main() {
  run<int>("int", 512);
  run<int>("int", 4096);
  run<float>("float", 2048);
  run<double>("double", 1024);
  run<int64_t>("int64", 2048);
  return check::finish();
}
