// Waiting for a signal (vgpu/host_wait.h). On amd64 ROCr's loops read the processor's own clock, which nobody can answer in
// its place: threads that the virtual GPU needs would share their cores with the loop. So the wait itself is ours, until what
// it waits for is there; ROCr then finds it at its first look.
#include <algorithm>

#include "amd/aql.h"
#include "base/clock.h"
#include "vgpu/guard.h"
#include "vgpu/host_wait.h"
#include "vgpu/preload/front.h"
#include "vgpu/preload/hsa_tables.h"

namespace wavetap::vgpu::front {
namespace {

constexpr size_t kWaitRelaxed = 43;
constexpr size_t kWaitAcquire = 44;
constexpr int64_t kUserSignal = 1;
constexpr uint32_t kBlocked = 0;
// Some microseconds: what a small packet that is being processed already takes.
constexpr int64_t kLooksBeforeRest = 32;
// After that many ROCr may sleep itself, on the signal's event, where it is allowed to.
constexpr int64_t kRestsBeforeEvent = 20;

using Wait = int64_t (*)(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
                         uint32_t hint);
constinit std::atomic<Wait> g_wait_relaxed{nullptr};
constinit std::atomic<Wait> g_wait_acquire{nullptr};

bool holds(int64_t now, uint32_t condition, int64_t value) {
  switch (condition) {
    case 0: return now == value;
    case 1: return now != value;
    case 2: return now < value;
    default: return now >= value;
  }
}

// Whether there is anything to wait for. The program may destroy a signal that somebody waits for.
bool is_pending(uint64_t signal, uint32_t condition, int64_t value) {
  bool pending = false;
  const auto look = [&] {
    const auto* const s = reinterpret_cast<const amd::Signal*>(signal);
    pending = s->kind == kUserSignal &&
              !holds(__atomic_load_n(&s->value, __ATOMIC_ACQUIRE), condition, value);
  };
  uint64_t fault = 0;
  return signal != 0 && guarded(look, &fault) && pending;
}

// Sleeps until the wait would end at once, or ROCr may sleep as well. How much of the timeout, in nanoseconds as all of
// ROCr's times of the host are here, is left.
uint64_t sleep_first(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
                     uint32_t hint) {
  Driver* const device = running_driver();
  if (device == nullptr || timeout == 0) return timeout;
  const int64_t begin = now().value;
  for (int64_t looks = 0, rests = 0;;) {
    const uint32_t seen = completions();
    if (!is_pending(signal, condition, value)) return timeout;
    const int64_t waited = now().value - begin;
    const uint64_t passed = static_cast<uint64_t>(waited);
    if (passed >= timeout) return 0;
    if (hint == kBlocked && rests == kRestsBeforeEvent) return timeout - passed;
    if (looks++ < kLooksBeforeRest) continue;
    // What it waits for may lie in a queue that nobody has looked at.
    if (rests++ == 0) device->queues().nudge();
    const uint64_t rest = static_cast<uint64_t>(rest_after(waited));
    rest_until_completion(seen, static_cast<int64_t>(std::min(rest, timeout - passed)));
  }
}

int64_t on_wait_relaxed(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
                        uint32_t hint) {
  return next(g_wait_relaxed)(signal, condition, value,
                              sleep_first(signal, condition, value, timeout, hint), hint);
}
int64_t on_wait_acquire(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
                        uint32_t hint) {
  return next(g_wait_acquire)(signal, condition, value,
                              sleep_first(signal, condition, value, timeout, hint), hint);
}

}  // namespace

void sleep_in_waits(TableVersion* core) {
  replace(core, kWaitRelaxed, &on_wait_relaxed, g_wait_relaxed);
  replace(core, kWaitAcquire, &on_wait_acquire, g_wait_acquire);
}

}  // namespace wavetap::vgpu::front
