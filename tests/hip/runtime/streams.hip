// Streams: creation with flags and priorities, independence, ordering within one, query,
// synchronize, destruction with work pending, and many of them.
#include "check.h"

__global__ void append(int* log, int* position, int value) { log[(*position)++] = value; }

__global__ void wait_for(volatile int* flag, int* done) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  *done = 1;
}

int main() {
  int least = 0, greatest = 0;
  WT_HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  check::expect(least >= greatest, "priorities from %d to %d", least, greatest);
  for (int priority = greatest; priority <= least; ++priority) {
    hipStream_t stream;
    int got = 99;
    unsigned flags = 99;
    WT_HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    WT_HIP(hipStreamGetPriority(stream, &got));
    WT_HIP(hipStreamGetFlags(stream, &flags));
    check::expect(got == priority && flags == hipStreamNonBlocking,
                  "priority %d and flags are kept", priority);
    WT_HIP(hipStreamDestroy(stream));
  }

  // Order within a stream.
  check::Buffer<int> log(100), position(1);
  position.fill_bytes(0);
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  std::vector<int> want(100);
  for (int i = 0; i < 100; ++i) {
    append<<<1, 1, 0, stream>>>(log, position, i * 3);
    want[i] = i * 3;
  }
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("100 kernels of one stream run in order", log.read(), want);

  // A blocked stream does not block another.
  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, 4 * sizeof(int), hipHostMallocCoherent));
  std::memset(shared, 0, 4 * sizeof(int));
  hipStream_t blocked, freed;
  WT_HIP(hipStreamCreateWithFlags(&blocked, hipStreamNonBlocking));
  WT_HIP(hipStreamCreateWithFlags(&freed, hipStreamNonBlocking));
  wait_for<<<1, 1, 0, blocked>>>(shared, shared + 1);
  position.fill_bytes(0);  // in the null stream, which non-blocking ones do not wait for
  WT_HIP(hipStreamSynchronize(nullptr));
  append<<<1, 1, 0, freed>>>(log, position, 77);
  WT_HIP(hipStreamSynchronize(freed));
  check::expect(hipStreamQuery(blocked) == hipErrorNotReady,
                "one stream waits while another has finished");
  (void)hipGetLastError();
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  WT_HIP(hipStreamSynchronize(blocked));
  check::equal("and ends when released", shared[1], 1);
  WT_HIP(hipStreamQuery(blocked));
  check::expect(true, "an idle stream is ready");

  // Destroying a stream lets its work finish.
  position.fill_bytes(0);
  WT_HIP(hipStreamSynchronize(nullptr));
  for (int i = 0; i < 20; ++i) append<<<1, 1, 0, freed>>>(log, position, i);
  WT_HIP(hipStreamDestroy(freed));
  WT_HIP(hipDeviceSynchronize());
  check::equal("work of a destroyed stream was done", position.read()[0], 20);

  std::vector<hipStream_t> many(40);
  check::Buffer<int> logs(many.size()), positions(many.size());
  positions.fill_bytes(0);
  for (size_t i = 0; i < many.size(); ++i) {
    WT_HIP(hipStreamCreate(&many[i]));
    append<<<1, 1, 0, many[i]>>>(logs.get() + i, positions.get() + i, static_cast<int>(i));
  }
  WT_HIP(hipDeviceSynchronize());
  std::vector<int> identity(many.size());
  for (size_t i = 0; i < many.size(); ++i) identity[i] = static_cast<int>(i);
  check::equal("40 streams", logs.read(), identity);
  for (hipStream_t s : many) WT_HIP(hipStreamDestroy(s));
  WT_HIP(hipStreamDestroy(stream));
  WT_HIP(hipStreamDestroy(blocked));
  WT_HIP(hipHostFree(shared));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipStreamCreate(nullptr));
  return check::finish();
}
