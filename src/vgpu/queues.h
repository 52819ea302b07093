// QueueTable: the process's user-mode queues and the threads that play the GPU's packet processors.
//
//   CREATE_QUEUE ──► Queue (idle) ──doorbell──► Queue thread ──► AqlProcessor / SdmaProcessor / Pm4Processor
//                        ▲                          │
//                        └── one shared poller ◄────┘ parks here with a condition: new packets, a
//                            (adaptive 20 µs…5 ms)    barrier's signals, a polled memory word
//
// A doorbell is a plain store into memory, so somebody has to look. A queue thread that ran dry
// looks for some tens of microseconds itself and then parks; one poller looks for all parked queues
// together, often while anything happens and rarely when nothing does, and at once after nudge().
//
// Every function returns 0 or a positive errno.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "vgpu/events.h"
#include "vgpu/queue_types.h"

namespace wavetap::vgpu {

// Thread-safe. One per process, never destroyed while the program may still submit work.
class QueueTable {
 public:
  QueueTable(EventTable& events, const QueueHooks& hooks);
  ~QueueTable();
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  // EINVAL: bad type, ring size (not a power of two, or below 256 bytes) or an address the GPU
  // cannot reach; ENOSPC: no doorbell left. `gpu` must outlive the table. The doorbell reads 0 on
  // return.
  int create(const QueueParams& params, Gpu& gpu, QueueHandle* handle);
  // Suspends (percentage 0 or no ring), resumes, moves the ring, changes the priority. A suspended
  // queue finishes the packet it is in; the call waits for that a short while only.
  int update(uint32_t id, const QueueUpdate& update);
  // The queue touches no memory any more when this returns, even if it was inside a kernel, a
  // barrier or had faulted.
  int destroy(uint32_t id);
  // `mask` holds one bit per CU, 32 in each word. An empty mask means all.
  int set_cu_mask(uint32_t id, std::span<const uint32_t> mask);
  // ALLOC_QUEUE_GWS: dispatches of this queue are cooperative. AQL queues only.
  int set_cooperative(uint32_t id, bool cooperative);

  // RUNTIME_ENABLE: errors of queues that name an event for them go there, not into the queue's inactive signal.
  void report_exceptions(bool report) noexcept { report_exceptions_.store(report); }

  // Something may have happened that queues wait for: look now. Called on entry of WAIT_EVENTS,
  // SET_EVENT, CREATE_QUEUE and the like. Cheap: two atomic operations when the poller is awake.
  void nudge() noexcept;

  std::vector<QueueSnapshot> snapshot();
  uint32_t live_count();
  // Which GPU the queue belongs to, or null.
  Gpu* gpu_of(uint32_t id);

  // Destroys every queue of the process. Used when the driver's file is closed for good and at
  // exit: cancels what runs, waits a bounded time, never for completion.
  void shutdown();
  // Called by the front end in the child of a fork: forgets every queue and thread without touching
  // locks that vanished threads may hold. The old state is leaked; the table can be used again.
  void after_fork_in_child();

 private:
  struct State;
  std::atomic<bool> report_exceptions_{false};
  EventTable& events_;
  QueueHooks hooks_;
  State* state_;
};

}  // namespace wavetap::vgpu
