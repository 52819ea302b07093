// QueueRaces: races between dispatches and copies of different queues. What each of them touched is kept
// (sanitize/footprint.h) for as long as one that may run at the same time can still come, and compared with
// those that come and are in no order with it (queue_order.h). Processes with one queue keep nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/gpu_addr.h"
#include "sanitize/finding_line.h"
#include "sanitize/footprint.h"
#include "sanitize/memory_map.h"
#include "vgpu/queue_order.h"

namespace wavetap::vgpu {

struct Gpu;

// What has to be kept of a dispatch for findings that come after it.
struct RanKernel {
  Gpu* gpu = nullptr;
  uint32_t queue = 0;
  uint64_t dispatch_id = 0;
  GpuAddr object;
  std::string name;
  bool is_chosen = false;  // the user wants to know
  std::vector<sanitize::PointerArgument> pointers;
};
using RanKernelPtr = std::shared_ptr<const RanKernel>;

struct QueueRace {
  sanitize::Finding finding;
  // Whose the two sides are. Null: a copy's. Where one side is a kernel's, the finding is the kernel's.
  RanKernelPtr kernel;
  RanKernelPtr other_kernel;
};

// Thread-safe.
class QueueRaces {
 public:
  QueueOrder& order() { return order_; }

  // A dispatch or a copy that is over.
  struct Ended {
    uint32_t queue = 0;
    uint64_t index = 0;       // of the packet
    QueueCounts over_before;  // when it began
    RanKernelPtr kernel;      // with what it touched
    sanitize::FootprintMarks marks;
    sanitize::Mover mover;  // else
    std::vector<sanitize::MovedRange> ranges;
  };
  // Before others can know that it is over. Races of it with earlier ones.
  std::vector<QueueRace> end(Ended ended, const sanitize::MemoryMap& map);

  // A packet of a copy queue. What belongs to one copy comes together, until it is over.
  void moved(const Queue& queue, uint64_t index, std::span<const sanitize::MovedRange> ranges,
             uint64_t time_ns);
  std::vector<QueueRace> end_copy(const Queue& queue, const sanitize::MemoryMap& map);

  // A copy that the host has made itself, with plain loads and stores, in a call that is over. Whatever was over by then
  // it may have waited for; `submitted`: before the call, what comes later is after it.
  std::vector<QueueRace> end_host_copy(std::span<const sanitize::MovedRange> ranges,
                                       const QueueCounts& submitted, uint64_t time_ns,
                                       const sanitize::MemoryMap& map);

 private:
  struct Record {
    Ended ended;
    QueueCounts submitted;  // when it ended
  };
  static bool may_overlap(const Record& earlier, const Ended& later);
  std::vector<QueueRace> add(Ended ended, const QueueCounts& submitted,
                             const sanitize::MemoryMap& map);
  void forget(const QueueCounts& finished);

  QueueOrder order_;
  std::mutex mutex_;
  std::deque<Record> records_;
  std::map<uint32_t, Ended> copies_;  // that are not over, by queue
  uint64_t host_copies_ = 0;
};

}  // namespace wavetap::vgpu
