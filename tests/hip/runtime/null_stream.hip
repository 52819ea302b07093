// The null stream waits for blocking streams and they for it; non-blocking streams stay apart.
#include "check.h"

__global__ void wait_then_set(volatile int* gate, int* out, int value) {
  while (*gate == 0) __builtin_amdgcn_s_sleep(1);
  *out = value;
}

__global__ void copy_value(const int* in, int* out) { *out = *in; }

int main() {
  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, 8 * sizeof(int), hipHostMallocCoherent));
  volatile int* view = shared;
  hipStream_t blocking, apart;
  WT_HIP(hipStreamCreate(&blocking));
  WT_HIP(hipStreamCreateWithFlags(&apart, hipStreamNonBlocking));

  std::memset(shared, 0, 8 * sizeof(int));
  wait_then_set<<<1, 1, 0, blocking>>>(shared, shared + 1, 42);
  copy_value<<<1, 1>>>(shared + 1, shared + 2);  // null stream: only after the blocking one
  copy_value<<<1, 1, 0, apart>>>(shared + 1, shared + 3);
  WT_HIP(hipStreamSynchronize(apart));
  check::equal("a non-blocking stream passes a waiting one", view[3], 0);
  check::equal("the null stream has not run yet", view[2], 0);
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  WT_HIP(hipStreamSynchronize(nullptr));
  check::equal("the null stream came after the blocking stream", view[2], 42);

  std::memset(shared, 0, 8 * sizeof(int));
  wait_then_set<<<1, 1>>>(shared, shared + 1, 7);
  copy_value<<<1, 1, 0, blocking>>>(shared + 1, shared + 2);
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  WT_HIP(hipStreamSynchronize(blocking));
  check::equal("the blocking stream came after the null stream", view[2], 7);

  // A blocking copy on the null stream also waits.
  std::memset(shared, 0, 8 * sizeof(int));
  check::Buffer<int> device(1);
  device.fill_bytes(0);
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  wait_then_set<<<1, 1, 0, blocking>>>(shared, device, 99);
  check::equal("hipMemcpy sees what blocking streams did before it", device.read()[0], 99);
  WT_HIP(hipStreamDestroy(blocking));
  WT_HIP(hipStreamDestroy(apart));
  WT_HIP(hipHostFree(shared));
  return check::finish();
}
