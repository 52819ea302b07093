#include "record/clock.h"

#include <time.h>

#include <atomic>
#include <cstdint>

#include "format/clock_rate.h"

namespace wavetap::record {
namespace {

// With brackets of a tenth of a microsecond this tells the rate to some thousandths, which is good
// for the first millisecond; a sample of the helper thread follows then.
constexpr int64_t kBaselineNs = 50'000;

std::atomic<uint64_t> g_hz{0};

int64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

}  // namespace

uint64_t clock_hz() { return g_hz.load(std::memory_order_relaxed); }

double seconds_since(uint64_t time) {
  const uint64_t now = ticks();
  const uint64_t hz = clock_hz();
  return now <= time || hz == 0 ? 0 : static_cast<double>(now - time) / static_cast<double>(hz);
}

#if defined(__aarch64__)

void choose_clock() {}
format::Clock clock_kind() { return format::Clock::kCounter; }

#else

bool g_counter_is_constant = false;

void choose_clock() { g_counter_is_constant = has_constant_counter(); }
format::Clock clock_kind() {
  return g_counter_is_constant ? format::Clock::kCounter : format::Clock::kBoottimeNs;
}
uint64_t ticks_by_system_call() { return static_cast<uint64_t>(read_clock(CLOCK_BOOTTIME)); }

#endif

// The readings take tens of nanoseconds; an interrupt in between would spoil them, so the tightest
// of a few attempts is kept.
format::ClockSampleFact sample_clocks() {
  format::ClockSampleFact best{};
  for (int attempt = 0; attempt < 5; ++attempt) {
    format::ClockSampleFact sample{};
    sample.counter = ticks();
    sample.boottime_ns = read_clock(CLOCK_BOOTTIME);
    sample.monotonic_ns = read_clock(CLOCK_MONOTONIC);
    sample.realtime_ns = read_clock(CLOCK_REALTIME);
    sample.counter_after = ticks();
    if (attempt == 0 || sample.counter_after - sample.counter < best.counter_after - best.counter)
      best = sample;
  }
  return best;
}

format::ClockSampleFact settle_clock_rate(const format::ClockSampleFact& earlier) {
  format::ClockSampleFact now = sample_clocks();
  while (now.monotonic_ns - earlier.monotonic_ns < kBaselineNs) now = sample_clocks();
  const bool counts = clock_kind() == format::Clock::kCounter;
  const format::MeasuredRate rate =
      counts ? format::believed_rate(stated_counter_hz(), format::measure_rate(earlier, now))
             : format::MeasuredRate{1e9, 0};
  g_hz.store(static_cast<uint64_t>(rate.hz + 0.5), std::memory_order_relaxed);
  return now;
}

}  // namespace wavetap::record
