// What capturing.py measures:
//   bench_capturing sum MIB     adds up MIB of numbers that do not compress, once
//   bench_capturing count MIB   the same with 0, 1, 2, …, which do
//   bench_capturing loop N      launches a small kernel N times, waiting for each; prints "loop <ns>", the wall
//                               time of one
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

__global__ void sum(const uint64_t* numbers, uint64_t* sums, size_t count) {
  uint64_t mine = 0;
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
    mine += numbers[i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

namespace {

double wall_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const bool is_loop = std::strcmp(words[1], "loop") == 0;
  const bool counts = std::strcmp(words[1], "count") == 0;
  const size_t number = static_cast<size_t>(std::atoll(words[2]));
  const size_t elements = is_loop ? 64 : (number << 20) / sizeof(uint64_t);
  std::vector<uint64_t> host(elements);
  uint64_t state = 1;
  for (uint64_t& value : host) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    value = counts ? static_cast<uint64_t>(&value - host.data()) : state;
  }
  // A thread that waits by looking would count as work of whoever keeps it waiting.
  WT_HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  uint64_t *numbers, *sums;
  WT_HIP(hipMalloc(&numbers, elements * sizeof(uint64_t)));
  WT_HIP(hipMalloc(&sums, 1024 * sizeof(uint64_t)));
  WT_HIP(hipMemcpy(numbers, host.data(), elements * sizeof(uint64_t), hipMemcpyHostToDevice));
  const size_t launches = is_loop ? number : 1;
  const double before = wall_ns();
  for (size_t i = 0; i < launches; ++i) {
    sum<<<is_loop ? 1 : 16, 64>>>(numbers, sums, elements);
    WT_HIP(hipDeviceSynchronize());
  }
  std::printf("loop %.0f\n", (wall_ns() - before) / static_cast<double>(launches));
}
