// What a kernel launch costs its thread: empty kernels in batches, processor time of the launching
// thread. Prints "launch <ns> batches <n>": the cheapest batch, which is the one least disturbed by
// the emulation that shares the machine.
#include <time.h>

#include <algorithm>

#include "check.h"

__global__ void empty() {}

namespace {

double thread_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

int main() {
  constexpr int kBatch = 200, kBatches = 60;
  double best = 1e18;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double before = thread_ns();
    for (int i = 0; i < kBatch; ++i) empty<<<1, 64>>>();
    best = std::min(best, (thread_ns() - before) / kBatch);
    WT_HIP(hipDeviceSynchronize());
  }
  std::printf("launch %.0f launches %d\n", best, kBatch * kBatches);
}
