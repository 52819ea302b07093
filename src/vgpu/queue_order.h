// QueueOrder: which packets of different queues are surely in order.
//
// Packets of one queue follow each other. Between queues there is an order when a packet of one waits for a
// signal that a packet of the other completes (what hipStreamWaitEvent becomes), and when the host submitted
// the later one after the earlier one was over: the host may have waited for it. What is left may run at the
// same time, whatever happened in this run.
//
// Where it is not certain who completed a signal (the host, or a packet of long ago), everything that is over is
// taken as ordered: an order too many hides a race, one too few would invent one.
//
// Copy queues are queues like others. Their packets are numbered by bytes of the ring, see dispatch_hook.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace wavetap::vgpu {

struct Queue;

// By queue: how many of its packets, from the first one on.
using QueueCounts = std::map<uint32_t, uint64_t>;

// Thread-safe.
class QueueOrder {
 public:
  void add(Queue& queue);
  // Whether there is more than one that can run kernels. Copies of HIP are in a stream, and streams have such queues.
  bool has_several();

  // What is surely over before the packet that `queue` is at.
  QueueCounts over_before(const Queue& queue);
  // What has been submitted by now.
  QueueCounts submitted();
  // What has been taken out of the rings by now.
  QueueCounts finished();

  // From the queue's thread: packet `index` waited for these signals; packet `index` is over and completes
  // this signal. 0: none.
  void waited(const Queue& queue, uint64_t index, std::span<const uint64_t> signals);
  void packet_finished(const Queue& queue, uint64_t index, uint64_t signal);

 private:
  struct Completion {
    QueueCounts over;       // with it
    QueueCounts submitted;  // when it came
  };
  QueueCounts submitted_locked();

  std::mutex mutex_;
  std::map<uint32_t, std::weak_ptr<Queue>> queues_;
  std::map<uint32_t, QueueCounts> before_;  // by queue
  QueueCounts finished_;
  std::map<uint64_t, Completion> signals_;  // the last one of each
};

}  // namespace wavetap::vgpu
