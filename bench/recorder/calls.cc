// What a HIP call costs: a loop over one function of the stand-in runtime (tests/host/fake_hip.cc),
// which itself takes a nanosecond or two, so that the rest is the recorder's.
//
//   calls THREADS CALLS plain|args       CALLS per thread; hipGetDevice, or hipMemAdvise with its four arguments
//   calls THREADS SHORT short            SHORT threads that make two calls each, THREADS at a time
//
// Prints "cpu <ns> wall <ns> events <per second> end <ns>": processor time and elapsed time per
// call and thread, calls per second of all threads together, and when main was done
// (CLOCK_MONOTONIC). Of short threads, the processor time of one.
//
// Compiled with WT_LTTNG it puts every call into an LTTng-UST trace instead, as one event with the
// fields a recorder needs: start, duration, function, result, number, and the arguments when asked
// for. Compiled with WT_RPD it writes every plain call to the file named by RPDT_FILENAME the way RPD
// does (rpd_style.h), and prints "whole <ns>" as well: per call, until all of them are in the file.
#include <hip/hip_runtime_api.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#ifdef WT_LTTNG
#include "provider.h"
#endif
#ifdef WT_RPD
#include "rpd_style.h"
#endif

namespace {

int64_t now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

#ifdef WT_LTTNG
uint64_t ticks() {
#ifdef __x86_64__
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<uint64_t>(now(CLOCK_BOOTTIME));
#endif
}
#endif

void plain_call(uint32_t number) {
  int device;
#ifdef WT_LTTNG
  const uint64_t start = ticks();
  const int result = hipGetDevice(&device);
  lttng_ust_tracepoint(wavetap_bench, call, start, static_cast<uint32_t>(ticks() - start), result,
                       17, number);
#elif defined(WT_RPD)
  (void)number;
  const int64_t start = rpd_style::now();
  (void)hipGetDevice(&device);
  rpd_style::record_call("hipGetDevice", start, rpd_style::now());
#else
  (void)number;
  (void)hipGetDevice(&device);
#endif
}

void call_with_arguments(uint32_t number) {
  const void* address = reinterpret_cast<const void*>(uintptr_t{number} << 12);
#ifdef WT_LTTNG
  const uint64_t start = ticks();
  const int result = hipMemAdvise(address, 4096, hipMemAdviseSetReadMostly, 0);
  lttng_ust_tracepoint(wavetap_bench, call_with_arguments, start,
                       static_cast<uint32_t>(ticks() - start), result, 18, number,
                       reinterpret_cast<uintptr_t>(address), 4096, hipMemAdviseSetReadMostly, 0);
#else
  (void)hipMemAdvise(address, 4096, hipMemAdviseSetReadMostly, 0);
#endif
}

void short_threads(int at_once, uint32_t total) {
  const auto run = [&](uint32_t count) {
    for (uint32_t done = 0; done < count; done += static_cast<uint32_t>(at_once)) {
      std::vector<std::thread> running;
      for (int i = 0; i < at_once; ++i)
        running.emplace_back([] {
          plain_call(1);
          plain_call(2);
        });
      for (std::thread& thread : running) thread.join();
    }
  };
  run(100);  // what happens once
  const int64_t before = now(CLOCK_PROCESS_CPUTIME_ID);
  run(total);
  std::printf("cpu %.1f\n", static_cast<double>(now(CLOCK_PROCESS_CPUTIME_ID) - before) / total);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  const int threads = std::atoi(argv[1]);
  const uint32_t calls = static_cast<uint32_t>(std::atoll(argv[2]));
  if (std::strcmp(argv[3], "short") == 0) {
    short_threads(threads, calls);
    return 0;
  }
  const auto call = std::strcmp(argv[3], "args") == 0 ? call_with_arguments : plain_call;
#ifdef WT_RPD
  rpd_style::open(std::getenv("RPDT_FILENAME"));
#endif
  std::atomic<int> ready{0};
  std::atomic<int64_t> cpu{0};
  std::atomic<int64_t> wall{0};
  std::atomic<int64_t> first{INT64_MAX};
  std::atomic<int64_t> last{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      call(0);  // what happens once per thread or function is not what is measured
      ready.fetch_add(1);
      while (ready.load() < threads) std::this_thread::yield();
      const int64_t wall_before = now(CLOCK_MONOTONIC);
      const int64_t cpu_before = now(CLOCK_THREAD_CPUTIME_ID);
      for (uint32_t n = 1; n < calls; ++n) call(n);
      cpu.fetch_add(now(CLOCK_THREAD_CPUTIME_ID) - cpu_before);
      const int64_t wall_after = now(CLOCK_MONOTONIC);
      wall.fetch_add(wall_after - wall_before);
      for (int64_t seen = first.load();
           wall_before < seen && !first.compare_exchange_weak(seen, wall_before);) {
      }
      for (int64_t seen = last.load();
           wall_after > seen && !last.compare_exchange_weak(seen, wall_after);) {
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double total = static_cast<double>(threads) * calls;
  const int64_t main_end = now(CLOCK_MONOTONIC);
#ifdef WT_RPD
  rpd_style::close();
  std::printf("whole %.3f ", static_cast<double>(now(CLOCK_MONOTONIC) - first) / total);
#endif
  std::printf("cpu %.3f wall %.3f events %.0f", static_cast<double>(cpu) / total,
              static_cast<double>(wall) / total, total * 1e9 / static_cast<double>(last - first));
  std::printf(" end %lld\n", static_cast<long long>(main_end));
}
