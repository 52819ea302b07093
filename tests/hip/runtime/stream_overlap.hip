// Work in several streams overlaps: kernels of two streams talk to each other while both run, and a
// pipeline of copy, compute and copy back over four streams gives the right result.
#include "check.h"

// Each side adds one and waits for the other's answer; neither can finish alone.
__global__ void ping_pong(volatile int* mine, volatile int* theirs, int turns, int* done) {
  for (int t = 1; t <= turns; ++t) {
    *mine = t;
    __threadfence_system();
    while (*theirs < t) __builtin_amdgcn_s_sleep(1);
  }
  *done = 1;
}

__global__ void square(float* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= data[i];
}

int main() {
  hipStream_t streams[4];
  for (hipStream_t& s : streams) WT_HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, 256 * sizeof(int), hipHostMallocCoherent));
  std::memset(shared, 0, 256 * sizeof(int));
  ping_pong<<<1, 1, 0, streams[0]>>>(shared, shared + 64, 50, shared + 128);
  ping_pong<<<1, 1, 0, streams[1]>>>(shared + 64, shared, 50, shared + 192);
  WT_HIP(hipStreamSynchronize(streams[0]));
  WT_HIP(hipStreamSynchronize(streams[1]));
  check::expect(shared[128] == 1 && shared[192] == 1, "two kernels answered each other 50 times");

  const int chunks = 16, chunk = 5000;
  float *pinned = nullptr, *out = nullptr;
  WT_HIP(hipHostMalloc(&pinned, chunks * chunk * sizeof(float)));
  WT_HIP(hipHostMalloc(&out, chunks * chunk * sizeof(float)));
  for (int i = 0; i < chunks * chunk; ++i) pinned[i] = static_cast<float>(i % 1000);
  check::Buffer<float> device(chunks * chunk);
  for (int c = 0; c < chunks; ++c) {
    const hipStream_t s = streams[c % 4];
    float* at = device.get() + c * chunk;
    WT_HIP(hipMemcpyAsync(at, pinned + c * chunk, chunk * sizeof(float), hipMemcpyHostToDevice, s));
    square<<<check::blocks_for(chunk, 256), 256, 0, s>>>(at, chunk);
    WT_HIP(hipMemcpyAsync(out + c * chunk, at, chunk * sizeof(float), hipMemcpyDeviceToHost, s));
  }
  WT_HIP(hipDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < chunks * chunk; ++i)
    right = right && out[i] == static_cast<float>(i % 1000) * (i % 1000);
  check::expect(right, "16 chunks through 4 streams");
  for (hipStream_t s : streams) WT_HIP(hipStreamDestroy(s));
  WT_HIP(hipHostFree(shared));
  WT_HIP(hipHostFree(pinned));
  WT_HIP(hipHostFree(out));
  return check::finish();
}
