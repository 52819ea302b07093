#include "store/import_clock.h"

#include <fmt/format.h>
#include <time.h>

#include <fstream>
#include <optional>
#include <vector>

#include "base/cpu_counter.h"

namespace wavetap::store {
namespace {

std::string boot_id_here() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// The counter and the clock now, on this machine.
std::optional<format::ClockSampleFact> sample_here() {
  if (!has_constant_counter()) return std::nullopt;
  format::ClockSampleFact sample{};
  timespec time{};
  sample.counter = read_counter();
  clock_gettime(CLOCK_MONOTONIC, &time);
  sample.counter_after = read_counter();
  sample.monotonic_ns = time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  return sample;
}

uint64_t submitted(const RawOp& op) {
  switch (op.kind()) {
    case format::Kind::kDispatch: return op.as<format::DispatchRecord>().time;
    case format::Kind::kBarrier: return op.as<format::BarrierRecord>().time;
    default: return op.as<format::CopyRecord>().time;
  }
}

}  // namespace

void find_clock_rate(RawFacts& facts, const ProcessEvents& events) {
  ClockMap& clock = facts.clock;
  if (clock.rate() == ClockMap::Rate::kKnown) return;
  if (!facts.boot_id.empty() && facts.boot_id == boot_id_here()) {
    if (const std::optional<format::ClockSampleFact> here = sample_here())
      clock.learn_from_sample(*here);
  }
  std::vector<ClockMap::Order> orders;
  for (const RawOp& op : events.ops)
    if (op.record != nullptr && op.complete) orders.push_back({submitted(op), op.start_ns});
  clock.learn_from_order(orders);
}

ClockDoubt clock_doubt(const ClockMap& clock) {
  switch (clock.rate()) {
    case ClockMap::Rate::kKnown: break;
    case ClockMap::Rate::kEstimated:
      return {kClockEstimated,
              fmt::format("the recording does not say how fast its clock ran: {:.3f} GHz, as the "
                          "GPU's times suggest; times of calls and markers are estimates",
                          clock.hz() / 1e9)};
    case ClockMap::Rate::kGuessed:
      return {kClockUnknown,
              fmt::format("the recording does not say how fast its clock ran: {:.1f} GHz is a "
                          "guess; times of calls and markers may be off by half",
                          clock.hz() / 1e9)};
  }
  return {};
}

}  // namespace wavetap::store
