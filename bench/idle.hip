// What the virtual GPU costs while nobody uses it: opens queues, uses each once, sleeps, and prints
// the CPU time of the process during the sleep as "idle CPU_SECONDS WALL_SECONDS QUEUES".
#include <hip/hip_runtime.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "compare.h"

#define CHECK(call)                                                            \
  do {                                                                         \
    const hipError_t error = (call);                                           \
    if (error != hipSuccess) {                                                 \
      std::fprintf(stderr, "idle: %s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

__global__ void touch(int* out) { out[threadIdx.x] = threadIdx.x; }

static double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
         1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main() {
  constexpr int kStreams = 4;
  int* out = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&out), 64 * sizeof(int)));
  for (int i = 0; i < kStreams; ++i) {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    touch<<<1, 64, 0, stream>>>(out);
    CHECK(hipGetLastError());
  }
  CHECK(hipDeviceSynchronize());
  sleep(1);  // let everything come to rest
  const double cpu = cpu_seconds();
  const double start = seconds_now();
  sleep(5);
  std::printf("idle %.6f %.6f %d\n", cpu_seconds() - cpu, seconds_now() - start, kStreams);
  return 0;
}
