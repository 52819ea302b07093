// hipStreamWaitEvent: dependencies between streams, fan-out and fan-in, a long relay over several
// streams, and an event recorded twice (the wait is for the record before it).
#include "check.h"

__global__ void multiply_add(int* value, int by, int plus) { *value = *value * by + plus; }
__global__ void sum_all(const int* values, int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  *out = sum;
}

int main() {
  const int count = 6;
  std::vector<hipStream_t> streams(count);
  std::vector<hipEvent_t> events(count);
  for (int i = 0; i < count; ++i) {
    WT_HIP(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    WT_HIP(hipEventCreateWithFlags(&events[i], hipEventDisableTiming));
  }
  check::Buffer<int> value(1);
  value.fill_bytes(0);
  WT_HIP(hipDeviceSynchronize());
  unsigned want = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const int now = turn % count, next = (turn + 1) % count;
    multiply_add<<<1, 1, 0, streams[now]>>>(value, 3, turn);
    want = want * 3 + static_cast<unsigned>(turn);
    WT_HIP(hipEventRecord(events[now], streams[now]));
    WT_HIP(hipStreamWaitEvent(streams[next], events[now], 0));
  }
  WT_HIP(hipDeviceSynchronize());
  check::equal("a relay of 60 kernels over 6 streams", static_cast<unsigned>(value.read()[0]),
               want);

  // One stream starts five, the last waits for all.
  check::Buffer<int> values(count), sum(1);
  values.fill_bytes(0);
  WT_HIP(hipDeviceSynchronize());
  multiply_add<<<1, 1, 0, streams[0]>>>(values, 0, 1000);
  WT_HIP(hipEventRecord(events[0], streams[0]));
  for (int i = 1; i < count; ++i) {
    WT_HIP(hipStreamWaitEvent(streams[i], events[0], 0));
    multiply_add<<<1, 1, 0, streams[i]>>>(values.get() + i, 0, i);
    WT_HIP(hipEventRecord(events[i], streams[i]));
    WT_HIP(hipStreamWaitEvent(streams[0], events[i], 0));
  }
  sum_all<<<1, 1, 0, streams[0]>>>(values, count, sum);
  WT_HIP(hipStreamSynchronize(streams[0]));
  check::equal("fan-out and fan-in", sum.read()[0], 1000 + 15);
  for (int i = 0; i < count; ++i) {
    WT_HIP(hipEventDestroy(events[i]));
    WT_HIP(hipStreamDestroy(streams[i]));
  }
  return check::finish();
}
