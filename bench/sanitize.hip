// Five kernels for the cost of watching. Prints "NAME SECONDS" lines: processor time that a launch takes
// on the threads of the GPU, the best of a few, which other load on the machine hardly changes. This
// thread's own is left out: the runtime may wait by asking again and again.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#define CHECK(call)                                                                \
  do {                                                                             \
    const hipError_t error = (call);                                               \
    if (error != hipSuccess) {                                                     \
      std::fprintf(stderr, "sanitize: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

constexpr int kThreads = 256;
constexpr int kCount = 1 << 18;
constexpr int kSize = 128;
constexpr int kTile = 16;

__global__ void saxpy(float a, const float* x, float* y) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  y[i] = a * x[i] + y[i];
}
__global__ void matmul(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int t = 0; t < kSize; t += kTile) {
    tile_a[y][x] = a[row * kSize + t + x];
    tile_b[y][x] = b[(t + y) * kSize + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}
__global__ void reduction(const float* in, float* out) {
  __shared__ float sums[kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += in[(blockIdx.x * 4 + i) * kThreads + t];
  sums[t] = sum;
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (t < stride) sums[t] += sums[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}
// One pass over 4 bits inside each block: ranks by a scan of flags in LDS.
__global__ void radix_sort(unsigned* keys) {
  __shared__ unsigned sorted[kThreads];
  __shared__ unsigned ones[kThreads];
  const int t = threadIdx.x;
  unsigned key = keys[blockIdx.x * kThreads + t];
  for (int bit = 0; bit < 4; ++bit) {
    const unsigned is_one = key >> bit & 1;
    ones[t] = is_one;
    __syncthreads();
    for (int step = 1; step < kThreads; step *= 2) {
      const unsigned before = t >= step ? ones[t - step] : 0;
      __syncthreads();
      ones[t] += before;
      __syncthreads();
    }
    const unsigned zeros = kThreads - ones[kThreads - 1];
    const unsigned at = is_one ? zeros + ones[t] - 1 : t - ones[t];
    sorted[at] = key;
    __syncthreads();
    key = sorted[t];
    __syncthreads();
  }
  keys[blockIdx.x * kThreads + t] = key;
}
__global__ void histogram(const unsigned* in, unsigned* bins) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i) {
    const unsigned value = in[(blockIdx.x * 16 + i) * kThreads + threadIdx.x];
    atomicAdd(&own[value % 256], 1u);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// 10^8 reads of LDS, of which nothing, or all, has been written.
template <bool kWritten>
__global__ void flood(float* out) {
  __shared__ float line[kThreads];
  const int t = threadIdx.x;
  if (kWritten) line[t] = 1;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 400; ++i) sum += line[(t + i) % kThreads];
  out[blockIdx.x * kThreads + t] = sum;
}

// For the size of shadow memory: a word every 256 bytes, and words beside each other by workgroups of their own.
__global__ void strided(float* out) { out[(blockIdx.x * kThreads + threadIdx.x) * 64] = 1; }
__global__ void transposed(float* out) { out[threadIdx.x * (kCount / kThreads) + blockIdx.x] = 1; }

double processor_seconds() {
  const auto seconds = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  };
  return seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID);
}

template <class Launch>
void measure(const char* name, Launch launch, int rounds = 15) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = processor_seconds();
    launch();
    CHECK(hipDeviceSynchronize());
    best = std::min(best, processor_seconds() - start);
  }
  std::printf("%s %.6f\n", name, best);
}

// A copy on the device of what nobody has written, and of what somebody has.
void measure_copies(char* to) {
  constexpr size_t kBytes = size_t{32} << 20;
  for (const char* name : {"copy", "copy_written"}) {
    char *from = nullptr, *into = nullptr;
    CHECK(hipMalloc(&from, kBytes));
    CHECK(hipMalloc(&into, kBytes));
    if (std::strcmp(name, "copy_written") == 0) CHECK(hipMemset(from, 1, kBytes));
    CHECK(hipMemcpy(to, from, 64, hipMemcpyDeviceToDevice));  // the runtime's kernels are loaded
    CHECK(hipDeviceSynchronize());
    measure(
        name, [&] { CHECK(hipMemcpy(into, from, kBytes, hipMemcpyDeviceToDevice)); }, 1);
    CHECK(hipFree(from));
    CHECK(hipFree(into));
  }
}

// `flood`: only what is uninitialised. `copy`: only copies. `shadow`: kernels that scatter.
int main(int argc, char** argv) {
  std::vector<unsigned> random(kCount);
  unsigned state = 1;
  for (unsigned& value : random) value = (state = state * 1664525 + 1013904223) >> 8;
  float *x = nullptr, *y = nullptr;
  CHECK(hipMalloc(&x, kCount * sizeof(float)));
  CHECK(hipMalloc(&y, kCount * sizeof(float)));
  CHECK(hipMemcpy(x, random.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemset(y, 0, kCount * sizeof(float)));
  unsigned* const keys = reinterpret_cast<unsigned*>(x);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "copy") {
    measure_copies(reinterpret_cast<char*>(y));
    return 0;
  }
  if (mode == "shadow") {
    measure("strided", [&] { strided<<<kCount / kThreads / 64, kThreads>>>(y); });
    measure("transposed", [&] { transposed<<<kCount / kThreads, kThreads>>>(y); });
    return 0;
  }
  if (mode == "flood") {
    measure(
        "flood_written", [&] { flood<true><<<kCount / kThreads, kThreads>>>(y); }, 2);
    measure(
        "flood", [&] { flood<false><<<kCount / kThreads, kThreads>>>(y); }, 2);
    return 0;
  }
  measure("saxpy", [&] { saxpy<<<kCount / kThreads, kThreads>>>(2, x, y); });
  measure("matmul", [&] {
    matmul<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(x, x + kSize * kSize, y);
  });
  measure("reduction", [&] { reduction<<<kCount / kThreads / 4, kThreads>>>(x, y); });
  measure("radix_sort", [&] { radix_sort<<<kCount / kThreads / 8, kThreads>>>(keys); });
  measure("histogram", [&] {
    histogram<<<kCount / kThreads / 16, kThreads>>>(keys, reinterpret_cast<unsigned*>(y));
  });
  CHECK(hipFree(x));
  CHECK(hipFree(y));
  return 0;
}
