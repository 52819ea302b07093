// Events: record, query, synchronize, elapsed time within what the host measured, time that adds
// up, flags, and events that were never recorded.
#include <chrono>
#include <thread>

#include "check.h"

__global__ void spin(float* out, int turns) {
  float value = threadIdx.x;
  for (int i = 0; i < turns; ++i) value = value * 1.0001f + 0.25f;
  out[threadIdx.x] = value;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// HIP says that an event is done before other cores can see its time. Where memory is weakly
// ordered, the time may be 0 still, the machine's start; asked again, it is there.
float elapsed_ms(hipEvent_t from, hipEvent_t to) {
  constexpr float kImpossible = 600'000;
  float ms = kImpossible;
  for (int tries = 0; tries < 1000 && std::fabs(ms) >= kImpossible; ++tries)
    WT_HIP(hipEventElapsedTime(&ms, from, to));
  return ms;
}

int main() {
  check::Buffer<float> out(64);
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  hipEvent_t start, middle, stop;
  WT_HIP(hipEventCreate(&start));
  WT_HIP(hipEventCreate(&middle));
  WT_HIP(hipEventCreate(&stop));
  spin<<<1, 64, 0, stream>>>(out, 10);  // everything is loaded once before time is taken
  WT_HIP(hipStreamSynchronize(stream));

  const auto host_start = std::chrono::steady_clock::now();
  WT_HIP(hipEventRecord(start, stream));
  spin<<<1, 64, 0, stream>>>(out, 20000);
  WT_HIP(hipEventRecord(middle, stream));
  spin<<<1, 64, 0, stream>>>(out, 100000);
  WT_HIP(hipEventRecord(stop, stream));
  WT_HIP(hipEventSynchronize(stop));
  const double host_ms = milliseconds_since(host_start);
  WT_HIP(hipEventQuery(stop));
  const float first = elapsed_ms(start, middle);
  const float second = elapsed_ms(middle, stop);
  const float total = elapsed_ms(start, stop);
  check::expect(first > 0 && second > 0, "two kernels took %.3f and %.3f ms", first, second);
  check::expect(total <= host_ms, "together %.3f ms, the host saw %.3f ms", total, host_ms);
  check::expect(std::fabs(first + second - total) < 0.01f + 0.02f * total,
                "the parts add up to the whole");

  hipEvent_t never, plain;
  WT_HIP(hipEventCreate(&never));
  WT_HIP(hipEventCreateWithFlags(&plain, hipEventDisableTiming));
  check::expect(hipEventQuery(never) == hipSuccess, "an event never recorded is complete");
  float unused = 0;
  hipError_t error = hipEventElapsedTime(&unused, never, stop);
  (void)hipGetLastError();
  check::expect(error == hipErrorInvalidHandle || error == hipErrorInvalidResourceHandle,
                "but has no time (%s)", hipGetErrorName(error));
  WT_HIP(hipEventRecord(plain, stream));
  WT_HIP(hipEventSynchronize(plain));
  error = hipEventElapsedTime(&unused, plain, stop);
  (void)hipGetLastError();
  check::expect(error != hipSuccess, "an event without timing has no time (%s)",
                hipGetErrorName(error));

  // Recording again moves an event.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  WT_HIP(hipEventRecord(middle, stream));
  WT_HIP(hipEventSynchronize(middle));
  const float later = elapsed_ms(stop, middle);
  check::expect(later >= 4.0f, "an event recorded 5 ms later is %.3f ms later", later);
  for (hipEvent_t event : {start, middle, stop, never, plain}) WT_HIP(hipEventDestroy(event));
  WT_HIP(hipStreamDestroy(stream));

  std::vector<hipEvent_t> many(1000);
  for (hipEvent_t& event : many) {
    WT_HIP(hipEventCreate(&event));
    WT_HIP(hipEventRecord(event, nullptr));
  }
  WT_HIP(hipDeviceSynchronize());
  bool ordered = true;
  for (size_t i = 0; i + 1 < many.size(); ++i)
    ordered = ordered && elapsed_ms(many[i], many[i + 1]) >= 0;
  check::expect(ordered, "1000 events of one stream are in order");
#if HIP_VERSION_MAJOR >= 7
  // HIP 7.2.4 damages its heap when events go while its thread that hears of their completion is
  // still at work.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
#endif
  for (hipEvent_t event : many) WT_HIP(hipEventDestroy(event));
  return check::finish();
}
