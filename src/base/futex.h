// Threads that sleep until a word changes.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/sys.h"

namespace wavetap::sys {

// Sleeps while `word` is `value`, at most `timeout_ns` (0: for ever).
inline void futex_wait(const std::atomic<uint32_t>* word, uint32_t value, int64_t timeout_ns) {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  call(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns == 0 ? nullptr : &timeout, nullptr,
       0);
}
inline void futex_wake(const std::atomic<uint32_t>* word, int threads) {
  call(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

}  // namespace wavetap::sys
