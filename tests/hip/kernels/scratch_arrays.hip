// Private memory: arrays indexed by run-time values in scratch, of 1 to 8 byte elements, large
// frames, pointers to them passed to functions, and flat pointers that are private, LDS or global
// by lane.
#include "check.h"

template <class T>
__global__ void histogram_in_scratch(const int* in, T* out, int per_lane) {
  T bins[37];
  for (int b = 0; b < 37; ++b) bins[b] = T(b);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < per_lane; ++k) bins[in[i * per_lane + k] % 37] += T(k + 1);
  for (int b = 0; b < 37; ++b) out[i * 37 + b] = bins[b];
}

__device__ __noinline__ void bubble_sort(int* data, int count) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j + 1 < count - i; ++j) {
      if (data[j] > data[j + 1]) {
        const int kept = data[j];
        data[j] = data[j + 1];
        data[j + 1] = kept;
      }
    }
  }
}

__global__ void sort_in_scratch(const int* in, int* out, int count) {
  int data[24];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < count; ++k) data[k] = in[i * count + k];
  bubble_sort(data, count);
  for (int k = 0; k < count; ++k) out[i * count + k] = data[k];
}

__global__ void large_frame(int* out, int seed) {
  int big[1500];  // 6000 bytes per lane
  for (int k = 0; k < 1500; k += 1 + (seed & 1)) big[k] = k * seed + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 60; ++k) sum += big[(k * 97 + threadIdx.x * 13) % 1500 & ~(seed & 1)];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__device__ __noinline__ int read_through(const int* pointer, int index) { return pointer[index]; }

__global__ void flat_by_lane(const int* global, int* out) {
  __shared__ int shared[64];
  int own[8];
  for (int k = 0; k < 8; ++k) own[k] = 1000 + threadIdx.x * 8 + k;
  shared[threadIdx.x] = 2000 + threadIdx.x;
  __syncthreads();
  const int* pointer = threadIdx.x % 3 == 0 ? own : threadIdx.x % 3 == 1 ? shared : global;
  out[threadIdx.x] = read_through(pointer, threadIdx.x % 8);
}

template <class T>
void run_histogram(const char* name) {
  const int lanes = 128, per_lane = 50;
  check::Rng rng(sizeof(T));
  std::vector<int> in(lanes * per_lane);
  std::vector<T> want(lanes * 37);
  for (int& v : in) v = static_cast<int>(rng.below(1000));
  for (int i = 0; i < lanes; ++i) {
    for (int b = 0; b < 37; ++b) want[i * 37 + b] = T(b);
    for (int k = 0; k < per_lane; ++k) want[i * 37 + in[i * per_lane + k] % 37] += T(k + 1);
  }
  check::Buffer<int> device_in(in);
  check::Buffer<T> out(want.size());
  histogram_in_scratch<<<2, lanes / 2>>>(device_in.get(), out.get(), per_lane);
  check::sync();
  check::equal(name, out.read(), want);
}

int main() {
  run_histogram<uint8_t>("bytes");
  run_histogram<uint16_t>("shorts");
  run_histogram<int>("ints");
  run_histogram<double>("doubles");

  const int lanes = 96, count = 24;
  check::Rng rng(9);
  std::vector<int> in(lanes * count);
  for (int& v : in) v = static_cast<int>(rng.below(10000));
  check::Buffer<int> device_in(in), out(in.size());
  sort_in_scratch<<<3, 32>>>(device_in, out, count);
  check::sync();
  for (int i = 0; i < lanes; ++i) std::sort(in.begin() + i * count, in.begin() + (i + 1) * count);
  check::equal("sorted in a callee", out.read(), in);

  check::Buffer<int> sums(256);
  large_frame<<<4, 64>>>(sums, 12);
  check::sync();
  std::vector<int> want(256);
  for (int i = 0; i < 256; ++i) {
    for (int k = 0; k < 60; ++k) want[i] += (k * 97 + i % 64 * 13) % 1500 * 12 + i % 64;
  }
  check::equal("frame of 6000 bytes", sums.read(), want);

  std::vector<int> global(8), want_flat(64);
  for (int k = 0; k < 8; ++k) global[k] = 3000 + k;
  for (int i = 0; i < 64; ++i)
    want_flat[i] = i % 3 == 0 ? 1000 + i * 8 + i % 8 : i % 3 == 1 ? 2000 + i % 8 : 3000 + i % 8;
  check::Buffer<int> device_global(global), flat(64);
  flat_by_lane<<<1, 64>>>(device_global, flat);
  check::sync();
  check::equal("flat pointers to three memories in one wave", flat.read(), want_flat);
  return check::finish();
}
