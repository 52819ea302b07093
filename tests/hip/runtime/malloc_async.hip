// Stream-ordered allocation, where the device supports it: use in the same stream without waiting,
// reuse of freed memory, a pool's attributes.
#include "check.h"

__global__ void fill(int* data, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value + i;
}

int main() {
  int supported = 0;
  WT_HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
  if (supported == 0) check::skip("no memory pools on this device and runtime");
  const int count = 10000;
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  bool right = true;
  for (int turn = 0; turn < 20; ++turn) {
    int *a = nullptr, *b = nullptr;
    std::vector<int> out(count);
    WT_HIP(hipMallocAsync(reinterpret_cast<void**>(&a), count * sizeof(int), stream));
    WT_HIP(hipMallocAsync(reinterpret_cast<void**>(&b), count * sizeof(int), stream));
    fill<<<check::blocks_for(count, 256), 256, 0, stream>>>(a, count, turn);
    WT_HIP(hipMemcpyAsync(b, a, count * sizeof(int), hipMemcpyDeviceToDevice, stream));
    WT_HIP(hipFreeAsync(a, stream));
    WT_HIP(hipMemcpyAsync(out.data(), b, count * sizeof(int), hipMemcpyDeviceToHost, stream));
    WT_HIP(hipFreeAsync(b, stream));
    WT_HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < count; ++i) right = right && out[i] == turn + i;
  }
  check::expect(right, "20 rounds of allocate, use, copy and free in a stream");

  hipMemPool_t pool;
  WT_HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20, got = 0;
  WT_HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  WT_HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &got));
  check::equal("release threshold of the default pool", got, threshold);
  WT_HIP(hipMemPoolTrimTo(pool, 0));
  check::expect(true, "the pool can be trimmed");
  WT_HIP(hipStreamDestroy(stream));
  return check::finish();
}
