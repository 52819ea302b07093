// A lock of one word that works before any constructor has run. Zero is unlocked, so a word in
// memory that fork() wipes (ForkWiped, state.h) is never held by a thread that stayed behind in
// the parent.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/sys.h"

namespace wavetap::record {

class LockWord {
 public:
  void lock() {
    uint32_t expected = 0;
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
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

}  // namespace wavetap::record
