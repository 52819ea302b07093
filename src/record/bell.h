// How a thread of ours sleeps until somebody rings. Ringing costs an atomic add, and a system call
// only when the thread really sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/sys.h"

namespace wavetap::record {

class Bell {
 public:
  // Any thread, at any time.
  void ring() {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    // Pairs with the store in wait(): either the sleeper sees the new number or we see it asleep.
    if (asleep_.load(std::memory_order_seq_cst) != 0) sys::futex_wake(&rings_, 1);
  }

  // The sleeper: read this before looking for work ...
  uint32_t rings() const { return rings_.load(std::memory_order_acquire); }
  // ... and give it here. Returns at once when somebody has rung in between.
  void wait(uint32_t seen, int64_t timeout_ns) {
    asleep_.store(1, std::memory_order_seq_cst);
    if (rings_.load(std::memory_order_seq_cst) == seen) sys::futex_wait(&rings_, seen, timeout_ns);
    asleep_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> rings_{0};
  std::atomic<uint32_t> asleep_{0};
};

}  // namespace wavetap::record
