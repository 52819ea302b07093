#include "store/live_memory.h"

#include <iterator>

namespace wavetap::store {

int64_t device_of_memory(format::MemoryKind kind, int64_t device) {
  switch (kind) {
    case format::MemoryKind::kDevice:
    case format::MemoryKind::kFineGrained:
    case format::MemoryKind::kVirtual: return device;
    case format::MemoryKind::kHost:
    case format::MemoryKind::kKernarg:
    case format::MemoryKind::kManaged: break;
  }
  return -1;
}

void LiveMemory::advance_to(uint64_t time) {
  for (; next_ < events_.size() && events_[next_].time <= time; ++next_) {
    const MemoryEvent& event = events_[next_];
    if (event.allocate != nullptr) {
      const format::AllocateRecord& a = *event.allocate;
      held_[a.address] = {a.bytes, device_of_memory(static_cast<format::MemoryKind>(a.header.flags),
                                                    devices_.id(facts_.agent(a.agent)))};
    } else {
      held_.erase(event.free->address);
    }
  }
}

int64_t LiveMemory::device_of(uint64_t address) const {
  const auto after = held_.upper_bound(address);
  if (after == held_.begin()) return -1;
  const auto& [begin, held] = *std::prev(after);
  return address - begin < held.bytes ? held.device : -1;
}

}  // namespace wavetap::store
