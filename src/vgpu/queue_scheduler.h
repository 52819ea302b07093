// QueueScheduler: who runs when. See queues.h for the picture.
//
// States of a queue, all changes under one lock:
//
//            first packet seen                 step() == kBlocked, spun in vain
//   parked ─────────────────► running ◄──────────────────────────────► parked
//   (no thread)                  │  step() == kFaulted, or stop         (its thread sleeps)
//                                ▼
//                             finished: touches no memory, thread gone
//
// A dispatch may ask to be alone (hold_others()): running queues then stop at the gate, between two
// packets, until it is done. Queues that are parked, also inside a packet, stand still already. A
// dispatch that does not end in time is alone no longer (limit_hold()).
//
// The poller sleeps between two looks for a sixteenth of the time since something last happened, at
// least kFastest and at most kSlowest: a queue in use is seen within some 20 µs, an idle process
// costs a few hundred short wake-ups per second whatever the number of queues, and nothing at all
// when no queue exists.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "vgpu/host_wait.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

// Thread-safe. Leaked in the child of a fork, where its threads do not exist.
class QueueScheduler {
 public:
  QueueScheduler() = default;
  QueueScheduler(const QueueScheduler&) = delete;
  QueueScheduler& operator=(const QueueScheduler&) = delete;

  // 0 or EAGAIN when the poller cannot be started.
  int add(const std::shared_ptr<Queue>& queue);
  // Stops the queue. On return its thread touches no memory; a thread that does not get out of its
  // packet within seconds is left behind with a message. False in that case.
  bool remove(Queue& queue);
  // The queue's suspended flag has changed. When it is set, waits up to `patience_ms` for the
  // packet boundary.
  void suspension_changed(Queue& queue, int patience_ms);

  // Called on `self`'s thread, inside a packet: returns true when no other queue executes anything,
  // and none will until release_others(). False, and nothing is held, when another one does not get
  // to the end of its packet within `patience_ms`, or `self` was stopped.
  bool hold_others(Queue& self, int patience_ms);
  // From here on others go on when they have waited for `patience_ms`: what `self` runs may wait for
  // them, or for the program, which waits for them.
  void limit_hold(Queue& self, int patience_ms);
  // No more. False: somebody has gone on.
  bool keep_hold(Queue& self);
  void release_others(Queue& self);

  void nudge() noexcept;
  // A signal was completed: queues that wait inside a packet may go on, and threads of the program.
  void signal_completed() noexcept {
    announce_completion();
    if (waiting_in_packet_.load(std::memory_order_relaxed) != 0) nudge();
  }
  uint64_t looks() const { return looks_.load(std::memory_order_relaxed); }  // for the bench

 private:
  static constexpr auto kForEver = std::chrono::steady_clock::time_point::max();
  struct ThreadStart;
  static void* poller_entry(void* self);
  static void* queue_entry(void* start);

  void poll_for_ever();
  bool look_at_parked();
  void run(const std::shared_ptr<Queue>& queue);
  void park(Queue& queue);
  void halt(Queue& queue);
  template <class Passes>
  void wait_at_gate(std::unique_lock<std::mutex>& lock, const Passes& passes);
  void unpark(Queue& queue);
  bool start_thread(const std::shared_ptr<Queue>& queue);
  void sleep_until_nudged(uint32_t seen_nudges, int64_t nanoseconds);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Queue>> parked_;
  std::condition_variable quiet_;  // a queue has parked, halted or finished
  std::condition_variable gate_;   // holder_ has changed, or somebody at the gate shall look
  uint32_t moving_ = 0;            // queues with a thread that is neither parked nor halted
  // The queue whose dispatch is alone. Written under mutex_; read by queue threads at each packet.
  std::atomic<Queue*> holder_{nullptr};
  // Who stands at the gate then opens it. Under mutex_.
  std::chrono::steady_clock::time_point hold_until_ = kForEver;
  bool poller_started_ = false;

  std::atomic<int64_t> last_activity_ns_{0};
  std::atomic<uint32_t> waiting_in_packet_{0};
  std::atomic<uint32_t> nudges_{0};  // the futex the poller sleeps on
  std::atomic<bool> poller_sleeps_{false};
  std::atomic<uint64_t> looks_{0};
};

}  // namespace wavetap::vgpu
