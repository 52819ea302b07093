// A lock of one word that works before any constructor has run. Zero is unlocked, so a word in
// memory that fork() wipes (ForkWiped, record/state.h) is never held by a thread that stayed behind in
// the parent.
//
// Who finds it taken looks a few times again, because holders are done in less time than it takes to
// fall asleep, and then sleeps: the holder may be waiting for the very processor.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace wavetap {

class LockWord {
 public:
  void lock() {
    if (try_lock()) return;
    for (int look = 0; look < kLooks; ++look)
      if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    // 2: locked, and somebody may be asleep.
    while (word_.exchange(2, std::memory_order_acquire) != 0) sys::futex_wait(&word_, 2, 0);
  }
  bool try_lock() {
    uint32_t expected = 0;
    return word_.compare_exchange_strong(expected, 1, std::memory_order_acquire);
  }
  // For a lock whose holder may be gone, as threads are when a program ends.
  bool try_lock_for(int milliseconds) {
    for (int tries = milliseconds * 10; !try_lock(); --tries) {
      if (tries <= 0) return false;
      const timespec pause{0, 100'000};
      sys::call(SYS_nanosleep, &pause, nullptr);
    }
    return true;
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) sys::futex_wake(&word_, 1);
  }

 private:
  static constexpr int kLooks = 100;  // far shorter than a system call

  std::atomic<uint32_t> word_{0};
};

class Locked {
 public:
  explicit Locked(LockWord& word) : word_(word) { word_.lock(); }
  ~Locked() { word_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  LockWord& word_;
};

}  // namespace wavetap
