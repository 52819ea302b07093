#include "vgpu/queue_scheduler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "vgpu/gpu.h"
#include "vgpu/guard.h"

namespace wavetap::vgpu {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;

constexpr int64_t kFastest = 20 * kMicrosecond;
constexpr int64_t kSlowest = 2 * kMillisecond;
// After this long without any packet the program is doing something else altogether. It will nudge
// us when it comes back and waits for a result.
constexpr int64_t kDozeAfter = 1 * kSecond;
constexpr int64_t kDozing = 5 * kMillisecond;
// Looks of the poller between two checks that the fault handler is still ours.
constexpr uint64_t kLooksPerArm = 32;
// How long a queue thread looks itself before it parks: covers a host that submits one packet per
// completed one.
constexpr int64_t kSpin = 40 * kMicrosecond;
constexpr int kStepsPerArm = 64;
constexpr auto kRemovePatience = std::chrono::seconds(10);
// LLVM's disassembler runs on queue threads when a fault is reported.
constexpr size_t kStackBytes = 2u << 20;

// The program's signals stay with the program's threads; faults of our own are always ours.
void settle_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
  // Without this every sleep of a default thread takes 50 µs longer than asked.
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
}

// Creates a detached thread that starts with the program's signals blocked.
bool create_thread(void* (*entry)(void*), void* arg) {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&blocked, signal);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, entry, arg);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

void futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  sys::call(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

// True when the queue became ready within kSpin.
bool spin_until_ready(Queue& queue) {
  const int64_t begin = now().value;
  for (;;) {
    if (queue.stop.load(std::memory_order_relaxed) ||
        queue.suspended.load(std::memory_order_relaxed)) {
      return true;
    }
    if (queue.processor->ready()) return true;
    if (now().value - begin > kSpin) return false;
    sched_yield();
  }
}

// One queue less moves. Wrapped around, the count would have a dispatch that wants to be alone wait in vain.
void stand_still(uint32_t& moving) {
  if (WT_SOFT_CHECK(moving != 0, "a queue that stands still has moved")) --moving;
}

}  // namespace

struct QueueScheduler::ThreadStart {
  QueueScheduler* scheduler;
  std::shared_ptr<Queue> queue;
};

int QueueScheduler::add(const std::shared_ptr<Queue>& queue) {
  {
    const std::lock_guard lock(mutex_);
    if (!poller_started_) {
      if (!create_thread(poller_entry, this)) return EAGAIN;
      poller_started_ = true;
    }
    queue->parked = true;
    parked_.push_back(queue);
  }
  last_activity_ns_.store(now().value, std::memory_order_relaxed);
  nudge();
  return 0;
}

bool QueueScheduler::remove(Queue& queue) {
  std::unique_lock lock(mutex_);
  queue.stop.store(true, std::memory_order_seq_cst);
  if (queue.parked) unpark(queue);
  if (!queue.has_thread) queue.finished = true;
  gate_.notify_all();
  quiet_.notify_all();  // it may wait for others to stand still
  const bool quiet = quiet_.wait_for(lock, kRemovePatience, [&] { return queue.finished; });
  if (!quiet) {
    log::complain("queue %u: still inside a kernel %d s after it was destroyed; left behind",
                  queue.id, static_cast<int>(kRemovePatience.count()));
  }
  return quiet;
}

void QueueScheduler::suspension_changed(Queue& queue, int patience_ms) {
  std::unique_lock lock(mutex_);
  if (!queue.suspended.load(std::memory_order_relaxed)) {
    if (queue.parked && queue.has_thread) unpark(queue);
    lock.unlock();
    last_activity_ns_.store(now().value, std::memory_order_relaxed);
    nudge();
    return;
  }
  gate_.notify_all();
  quiet_.wait_for(lock, std::chrono::milliseconds(patience_ms),
                  [&] { return queue.parked || queue.finished || !queue.has_thread; });
}

template <class Passes>
void QueueScheduler::wait_at_gate(std::unique_lock<std::mutex>& lock, const Passes& passes) {
  while (holder_.load(std::memory_order_relaxed) != nullptr && !passes()) {
    if (hold_until_ == kForEver) {
      gate_.wait(lock);
      continue;
    }
    gate_.wait_until(lock, hold_until_);
    if (hold_until_ == kForEver || std::chrono::steady_clock::now() < hold_until_) continue;
    holder_.store(nullptr, std::memory_order_release);
    gate_.notify_all();
  }
}

bool QueueScheduler::hold_others(Queue& self, int patience_ms) {
  std::unique_lock lock(mutex_);
  const auto stopped = [&] { return self.stop.load(std::memory_order_relaxed); };
  // While somebody else is alone we stand still ourselves, so that the two do not wait for each
  // other.
  self.halted = true;
  stand_still(moving_);
  quiet_.notify_all();
  wait_at_gate(lock, stopped);
  self.halted = false;
  ++moving_;
  if (stopped()) return false;
  holder_.store(&self, std::memory_order_release);  // pairs with the load in run()
  hold_until_ = kForEver;
  const bool quiet = quiet_.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] {
    return moving_ == 1 || stopped();
  }) && !stopped();
  if (quiet) return true;
  holder_.store(nullptr, std::memory_order_release);
  gate_.notify_all();
  return false;
}

void QueueScheduler::release_others(Queue& self) {
  const std::lock_guard lock(mutex_);
  if (holder_.load(std::memory_order_relaxed) != &self) return;
  holder_.store(nullptr, std::memory_order_release);
  gate_.notify_all();
}

void QueueScheduler::limit_hold(Queue& self, int patience_ms) {
  const std::lock_guard lock(mutex_);
  if (holder_.load(std::memory_order_relaxed) != &self) return;
  hold_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  gate_.notify_all();
}

bool QueueScheduler::keep_hold(Queue& self) {
  const std::lock_guard lock(mutex_);
  if (holder_.load(std::memory_order_relaxed) != &self) return false;
  hold_until_ = kForEver;
  return true;
}

// Another queue's dispatch is alone: stand still until it is done.
void QueueScheduler::halt(Queue& queue) {
  queue.activity.store(QueueActivity::kWaiting, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  queue.halted = true;
  stand_still(moving_);
  quiet_.notify_all();
  wait_at_gate(lock, [&] {
    return queue.stop.load(std::memory_order_relaxed) ||
           queue.suspended.load(std::memory_order_relaxed);
  });
  queue.halted = false;
  ++moving_;
}

void QueueScheduler::nudge() noexcept {
  // Sequentially consistent on both sides: either the poller sees the new count before it sleeps,
  // or we see that it sleeps (sleep_until_nudged()).
  nudges_.fetch_add(1, std::memory_order_seq_cst);
  if (poller_sleeps_.load(std::memory_order_seq_cst)) futex(&nudges_, FUTEX_WAKE, 1, nullptr);
}

void* QueueScheduler::poller_entry(void* self) {
  settle_thread("wt-poller");
  static_cast<QueueScheduler*>(self)->poll_for_ever();
  return nullptr;
}

void QueueScheduler::poll_for_ever() {
  for (;;) {
    const uint32_t seen = nudges_.load(std::memory_order_seq_cst);
    const bool anything_parked = look_at_parked();
    if (!anything_parked) {
      sleep_until_nudged(seen, /*nanoseconds=*/-1);
      continue;
    }
    const int64_t idle = now().value - last_activity_ns_.load(std::memory_order_relaxed);
    sleep_until_nudged(seen,
                       idle > kDozeAfter ? kDozing : std::clamp(idle / 16, kFastest, kSlowest));
  }
}

void QueueScheduler::sleep_until_nudged(uint32_t seen_nudges, int64_t nanoseconds) {
  const timespec timeout{nanoseconds / kSecond, nanoseconds % kSecond};
  poller_sleeps_.store(true, std::memory_order_seq_cst);
  // The kernel compares the count again, so a nudge since `seen_nudges` returns at once.
  futex(&nudges_, FUTEX_WAIT, seen_nudges, nanoseconds < 0 ? nullptr : &timeout);
  poller_sleeps_.store(false, std::memory_order_relaxed);
}

// Sends the ready ones to work. False when there is nothing to look at.
bool QueueScheduler::look_at_parked() {
  const std::lock_guard lock(mutex_);
  bool any = false;
  if (looks_.fetch_add(1, std::memory_order_relaxed) % kLooksPerArm == 0) arm_guard();
  for (size_t i = 0; i < parked_.size();) {
    const std::shared_ptr<Queue>& queue = parked_[i];
    if (queue->suspended.load(std::memory_order_relaxed)) {
      ++i;
      continue;
    }
    any = true;
    if (!queue->processor->ready()) {
      ++i;
      continue;
    }
    last_activity_ns_.store(now().value, std::memory_order_relaxed);
    if (!queue->has_thread && !start_thread(queue)) {
      // No thread to be had at the moment; it is still parked and ready at the next look.
      ++i;
      continue;
    }
    unpark(*queue);  // removes it from parked_
  }
  return any;
}

// Caller holds mutex_.
bool QueueScheduler::start_thread(const std::shared_ptr<Queue>& queue) {
  auto* start = new (std::nothrow) ThreadStart{this, queue};
  if (start == nullptr) return false;
  queue->has_thread = true;
  if (create_thread(queue_entry, start)) return true;
  queue->has_thread = false;
  delete start;
  return false;
}

void* QueueScheduler::queue_entry(void* start_pointer) {
  const std::unique_ptr<ThreadStart> start(static_cast<ThreadStart*>(start_pointer));
  char name[16];
  std::snprintf(name, sizeof name, "wt-queue-%u", start->queue->id);
  settle_thread(name);
  start->scheduler->run(start->queue);
  return nullptr;
}

void QueueScheduler::run(const std::shared_ptr<Queue>& queue_pointer) {
  Queue& queue = *queue_pointer;
  int steps_until_arm = 0;
  bool faulted = false;
  while (!faulted && !queue.stop.load(std::memory_order_acquire)) {
    if (queue.suspended.load(std::memory_order_acquire)) {
      park(queue);
      continue;
    }
    if (holder_.load(std::memory_order_acquire) != nullptr) {
      halt(queue);
      continue;
    }
    if (steps_until_arm-- == 0) {
      arm_guard();
      steps_until_arm = kStepsPerArm;
    }
    queue.activity.store(QueueActivity::kRunning, std::memory_order_relaxed);
    switch (queue.processor->step()) {
      case Step::kProgress: break;
      case Step::kBlocked:
        if (!spin_until_ready(queue)) park(queue);
        break;
      case Step::kFaulted: faulted = true; break;
    }
  }
  const std::lock_guard lock(mutex_);
  queue.activity.store(faulted ? QueueActivity::kFaulted : QueueActivity::kIdle,
                       std::memory_order_relaxed);
  queue.finished = true;
  stand_still(moving_);
  quiet_.notify_all();
}

void QueueScheduler::park(Queue& queue) {
  const bool suspended = queue.suspended.load(std::memory_order_relaxed);
  const bool in_packet = queue.processor->waits_in_packet();
  queue.activity.store(suspended   ? QueueActivity::kSuspended
                       : in_packet ? QueueActivity::kWaiting
                                   : QueueActivity::kIdle,
                       std::memory_order_relaxed);
  if (in_packet) waiting_in_packet_.fetch_add(1, std::memory_order_seq_cst);
  {
    std::unique_lock lock(mutex_);
    if (queue.stop.load(std::memory_order_relaxed)) {
      if (in_packet) waiting_in_packet_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    // A suspension or resumption that came in between is looked at by the caller's loop.
    if (suspended == queue.suspended.load(std::memory_order_relaxed)) {
      queue.parked = true;
      stand_still(moving_);
      parked_.push_back(queue.shared_from_this());
      quiet_.notify_all();
      last_activity_ns_.store(now().value, std::memory_order_relaxed);
      lock.unlock();
      nudge();  // The poller may be in a long sleep.
      lock.lock();
      queue.unparked.wait(lock, [&] { return !queue.parked; });
    }
  }
  if (in_packet) waiting_in_packet_.fetch_sub(1, std::memory_order_relaxed);
}

// Caller holds mutex_.
void QueueScheduler::unpark(Queue& queue) {
  queue.parked = false;
  if (queue.has_thread) ++moving_;
  // Last: this may drop the table's last reference to a queue without a thread.
  queue.unparked.notify_one();
  std::erase_if(parked_,
                [&](const std::shared_ptr<Queue>& other) { return other.get() == &queue; });
}

}  // namespace wavetap::vgpu
