#include "store/clock_map.h"

#include <algorithm>
#include <iterator>

namespace wavetap::store {
namespace {

// What the counter of a CPU can do; a rate outside comes from data that is wrong.
constexpr double kSlowestHz = 1e6;
constexpr double kFastestHz = 2e10;
// Of a recording that tells nothing: in the middle of what x86 has.
constexpr double kUsualHz = 2.5e9;
// A measured rate worse than this is no better than none.
constexpr double kUsableError = 0.01;

bool is_possible(double hz) { return hz >= kSlowestHz && hz <= kFastestHz; }

}  // namespace

void ClockMap::set_hz(double hz, Rate rate) {
  ns_per_tick_ = 1e9 / hz;
  rate_ = rate;
}

void ClockMap::add(const format::ClockSampleFact& sample) {
  const uint64_t after = std::max(sample.counter, sample.counter_after);
  const Sample added{sample.counter + (after - sample.counter) / 2, sample};
  // Samples come in order; one that does not belong would bend every time around it.
  if (!samples_.empty() && (added.counter <= samples_.back().counter ||
                            sample.monotonic_ns < samples_.back().fact.monotonic_ns))
    return;
  samples_.push_back(added);
}

void ClockMap::set_frequency(format::Clock clock, uint64_t stated_hz) {
  if (clock != format::Clock::kCounter) return set_hz(1e9, Rate::kKnown);
  format::MeasuredRate measured;
  if (samples_.size() >= 2)
    measured = format::measure_rate(samples_.front().fact, samples_.back().fact);
  if (measured.error > kUsableError || !is_possible(measured.hz)) measured = {};
  const format::MeasuredRate rate = format::believed_rate(stated_hz, measured);
  if (rate.hz > 0) set_hz(rate.hz, Rate::kKnown);
  else set_hz(kUsualHz, Rate::kGuessed);
}

void ClockMap::learn_from_sample(const format::ClockSampleFact& other) {
  if (rate_ != Rate::kGuessed || samples_.empty()) return;
  const format::MeasuredRate rate = format::measure_rate(samples_.front().fact, other);
  if (is_possible(rate.hz) && rate.error <= kUsableError) set_hz(rate.hz, Rate::kKnown);
}

// Each order is a limit: with a slower counter the event would come after what it preceded. The
// tightest limit is near the truth, because some kernel began soon after it was submitted.
void ClockMap::learn_from_order(const std::vector<Order>& orders) {
  if (rate_ != Rate::kGuessed || samples_.empty()) return;
  const Sample& first = samples_.front();
  double slowest = 0;
  for (const Order& order : orders) {
    if (order.ticks <= first.counter || order.boottime_ns <= first.fact.boottime_ns) continue;
    const double hz = static_cast<double>(order.ticks - first.counter) * 1e9 /
                      static_cast<double>(order.boottime_ns - first.fact.boottime_ns);
    slowest = std::max(slowest, hz);
  }
  if (is_possible(slowest)) set_hz(slowest, Rate::kEstimated);
}

int64_t ClockMap::monotonic(uint64_t ticks) const {
  if (samples_.empty()) return static_cast<int64_t>(static_cast<double>(ticks) * ns_per_tick_);
  // The line from sample `at` to the next one; the rate leads on from the last.
  size_t at = last_;
  if (at >= samples_.size() || samples_[at].counter > ticks ||
      (at + 1 < samples_.size() && samples_[at + 1].counter <= ticks)) {
    const auto next = std::upper_bound(samples_.begin(), samples_.end(), ticks,
                                       [](uint64_t t, const Sample& s) { return t < s.counter; });
    at = next == samples_.begin() ? 0 : static_cast<size_t>(next - samples_.begin()) - 1;
    last_ = at;
  }
  const Sample& from = samples_[at];
  double slope = ns_per_tick_;
  if (at + 1 < samples_.size() && ticks >= from.counter) {
    const Sample& to = samples_[at + 1];
    slope = static_cast<double>(to.fact.monotonic_ns - from.fact.monotonic_ns) /
            static_cast<double>(to.counter - from.counter);
  }
  const double distance = ticks >= from.counter ? static_cast<double>(ticks - from.counter)
                                                : -static_cast<double>(from.counter - ticks);
  return from.fact.monotonic_ns + static_cast<int64_t>(distance * slope);
}

int64_t ClockMap::monotonic_of_boottime(int64_t boottime_ns) const {
  if (samples_.empty()) return boottime_ns;
  // They run alike, except that only one counts while the machine sleeps: the offset of the sample
  // before.
  const auto next =
      std::upper_bound(samples_.begin(), samples_.end(), boottime_ns,
                       [](int64_t t, const Sample& s) { return t < s.fact.boottime_ns; });
  const Sample& sample = next == samples_.begin() ? samples_.front() : *std::prev(next);
  return boottime_ns - (sample.fact.boottime_ns - sample.fact.monotonic_ns);
}

int64_t ClockMap::epoch_offset() const {
  return samples_.empty() ? 0 : samples_[0].fact.realtime_ns - samples_[0].fact.monotonic_ns;
}

}  // namespace wavetap::store
