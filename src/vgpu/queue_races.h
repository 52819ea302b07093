// QueueRaces: races between dispatches of different queues. What each dispatch touched is kept
// (sanitize/footprint.h) for as long as a dispatch that may run at the same time can still come, and compared with
// those that come and are in no order with it (queue_order.h). Processes with one queue keep nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/gpu_addr.h"
#include "sanitize/footprint.h"
#include "sanitize/memory_map.h"
#include "vgpu/queue_order.h"

namespace wavetap::vgpu {

struct QueueRace {
  sanitize::Finding finding;
  GpuAddr other_kernel;  // the kernel object of the other side
};

// Thread-safe.
class QueueRaces {
 public:
  QueueOrder& order() { return order_; }

  struct Ended {
    uint32_t queue = 0;
    uint64_t index = 0;  // of the packet
    GpuAddr kernel_object;
    std::string kernel;
    QueueCounts over_before;  // when it began
    sanitize::FootprintMarks marks;
  };
  // After a dispatch. Races of it with earlier ones.
  std::vector<QueueRace> end(Ended dispatch, const sanitize::MemoryMap& map);

 private:
  struct Record {
    Ended dispatch;
    QueueCounts submitted;  // when it ended
  };
  static bool may_overlap(const Record& earlier, const Ended& later);
  void forget(const QueueCounts& finished);

  QueueOrder order_;
  std::mutex mutex_;
  std::deque<Record> records_;
};

}  // namespace wavetap::vgpu
