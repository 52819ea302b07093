// Lets the program give work to GPUs, or one thread keep everybody from it: for a dispatch that is to
// run alone (dispatch_policy.h). Passed only when there are policies.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/dispatch_policy.h"
#include "agent/recording.h"

namespace wavetap::agent {

class Gate {
 public:
  void enter() {
    for (;;) {
      while (closed_.load(std::memory_order_acquire) != 0) sys::futex_wait(&closed_, 1, 0);
      // Either close() sees us inside or we see it closed: both are sequentially consistent.
      inside_.fetch_add(1, std::memory_order_seq_cst);
      if (closed_.load(std::memory_order_seq_cst) == 0) return;
      leave();
    }
  }
  void leave() {
    inside_.fetch_sub(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) != 0) sys::futex_wake(&inside_, 1);
  }

  // Not while inside. Returns when nobody is; whoever else wants to close it waits for open().
  void close() {
    closer_.lock();
    closed_.store(1, std::memory_order_seq_cst);
    while (const uint32_t count = inside_.load(std::memory_order_seq_cst))
      sys::futex_wait(&inside_, count, kLookAgainNs);
  }
  void open() {
    closed_.store(0, std::memory_order_seq_cst);
    sys::futex_wake(&closed_, 1 << 16);
    closer_.unlock();
  }

 private:
  static constexpr int64_t kLookAgainNs = 1'000'000;

  std::atomic<uint32_t> inside_{0};
  std::atomic<uint32_t> closed_{0};
  LockWord closer_;
};
extern Gate g_gate WT_HIDDEN;

// A thread that gives a GPU something to do.
class GateScope {
 public:
  // The agent's own code, the one of a policy included, is not kept out.
  GateScope() : inside_(has_dispatch_policies() && t_thread.inside == 0) {
    if (inside_) g_gate.enter();
  }
  ~GateScope() {
    if (inside_) g_gate.leave();
  }

  // Closes the gate and opens it again, from inside.
  void close() {
    if (inside_) g_gate.leave();
    g_gate.close();
  }
  void open() {
    g_gate.open();
    if (inside_) g_gate.enter();
  }
  GateScope(const GateScope&) = delete;
  GateScope& operator=(const GateScope&) = delete;

 private:
  const bool inside_;
};

}  // namespace wavetap::agent
