#include "vgpu/host_wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "base/sys.h"

namespace wavetap::vgpu {
namespace {

// Two questions this close to each other have nothing between them but a look at a signal.
constexpr int64_t kQuickNs = 5'000;
// Some microseconds: what a small packet that is being processed already takes.
constexpr uint32_t kTurnsBeforeRest = 32;
constexpr int64_t kLongestRestNs = 2'000'000;

constinit std::atomic<uint32_t> g_completions{0};  // a futex
constinit std::atomic<uint32_t> g_resting{0};

}  // namespace

uint32_t completions() noexcept { return g_completions.load(std::memory_order_acquire); }

void announce_completion() noexcept {
  // Sequentially consistent on both sides: either the waiter's system call sees the new count, or
  // we see that there is a waiter.
  g_completions.fetch_add(1, std::memory_order_seq_cst);
  if (g_resting.load(std::memory_order_seq_cst) == 0) return;
  sys::call(SYS_futex, &g_completions, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr,
            0);
}

int64_t rest_after(int64_t waited_ns) noexcept {
  return std::clamp(waited_ns / 16, kRestNs, kLongestRestNs);
}

void rest_until_completion(uint32_t seen, int64_t rest_ns) noexcept {
  const timespec timeout{0, rest_ns};
  g_resting.fetch_add(1, std::memory_order_seq_cst);
  sys::call(SYS_futex, &g_completions, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, &timeout, nullptr, 0);
  g_resting.fetch_sub(1, std::memory_order_relaxed);
}

ClockLoop::Turn ClockLoop::turn(int64_t now_ns, uint32_t seen) noexcept {
  const bool is_quick = now_ns - last_ns_ < kQuickNs;
  const bool is_news = seen != seen_;
  last_ns_ = now_ns;
  seen_ = seen;
  if (!is_quick) {
    quick_turns_ = 0;
    has_rested_ = false;
    return Turn::kGoOn;
  }
  if (quick_turns_ < kTurnsBeforeRest) ++quick_turns_;
  if (quick_turns_ < kTurnsBeforeRest || is_news) return Turn::kGoOn;
  const Turn rest = has_rested_ ? Turn::kRest : Turn::kFirstRest;
  has_rested_ = true;
  return rest;
}

}  // namespace wavetap::vgpu
