#include "replay/dispatch_runner.h"

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace wavetap::replay {
namespace {

// A wave that interrupts the host waits for it.
class RunnerHost final : public emu::Host {
 public:
  explicit RunnerHost(const DispatchRunner::Interrupt& interrupt) : interrupt_(interrupt) {}
  void interrupt() noexcept override {
    if (interrupt_ && !interrupt_()) stopped.store(true, std::memory_order_relaxed);
  }
  uint64_t clock_ticks() noexcept override { return to_ticks(now()).value; }

  std::atomic<bool> stopped{false};

 private:
  const DispatchRunner::Interrupt& interrupt_;
};

}  // namespace

DispatchRunner::Run DispatchRunner::run(emu::Dispatch& dispatch) {
  RunnerHost host(interrupt_);
  dispatch.host = &host;
  dispatch.cancelled = &host.stopped;
  const auto start = std::chrono::steady_clock::now();
  Run run{.result = engine_.run(dispatch)};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  dispatch.host = nullptr;
  dispatch.cancelled = nullptr;
  run.seconds = took.count();
  run.is_stopped = host.stopped.load(std::memory_order_relaxed);
  return run;
}

}  // namespace wavetap::replay
