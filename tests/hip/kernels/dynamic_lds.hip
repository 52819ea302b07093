// Dynamic LDS: several arrays carved out of one allocation, up to the full 64 KiB, mixed with
// static LDS, and contents that must not leak from a neighbour's block.
#include "check.h"

__global__ void carve(const int* in, long long* out, int count) {
  extern __shared__ char pool[];
  int* ints = reinterpret_cast<int*>(pool);
  double* doubles = reinterpret_cast<double*>(pool + count * sizeof(int));
  uint8_t* bytes = reinterpret_cast<uint8_t*>(doubles + count);
  __shared__ int fixed[32];
  const int base = blockIdx.x * count;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    ints[i] = in[base + i];
    doubles[i] = in[base + i] * 0.5;
    bytes[i] = static_cast<uint8_t>(in[base + i]);
  }
  if (threadIdx.x < 32) fixed[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int other = count - 1 - i;
    out[base + i] =
        ints[other] + static_cast<long long>(doubles[other] * 2) + bytes[other] + fixed[other % 32];
  }
}

void run(int count, int blocks, int threads) {
  check::Rng rng(count);
  std::vector<int> in(count * blocks);
  std::vector<long long> want(in.size());
  for (int& v : in) v = static_cast<int>(rng.below(1 << 20));
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < count; ++i) {
      const int other = count - 1 - i, v = in[b * count + other];
      want[b * count + i] = 2ll * v + static_cast<uint8_t>(v) + b * 1000 + other % 32;
    }
  }
  check::Buffer<int> device_in(in);
  check::Buffer<long long> out(in.size());
  const size_t bytes = count * (sizeof(int) + sizeof(double) + 1);
  carve<<<blocks, threads, bytes>>>(device_in, out, count);
  check::sync();
  char what[80];
  std::snprintf(what, sizeof what, "%zu bytes of dynamic LDS, %d blocks", bytes, blocks);
  check::equal(what, out.read(), want);
}

int main() {
  run(8, 3, 8);
  run(1000, 5, 256);
  // With the 128 static bytes this is within 64 KiB, and a multiple of 8.
  run(5024, 2, 512);
  const size_t limit = check::properties().sharedMemPerBlock;
  check::equal("LDS per block", limit, size_t{64 * 1024});
  carve<<<1, 64, limit + 4>>>(nullptr, nullptr, 0);
  const hipError_t error = hipGetLastError();
  check::expect(error != hipSuccess, "more LDS than the device has is refused (%s)",
                hipGetErrorName(error));
  return check::finish();
}
