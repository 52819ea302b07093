// Memory that a recorded process holds, followed in the order of time: whose is an address?
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "store/import_devices.h"
#include "store/import_events.h"
#include "store/raw_facts.h"

namespace wavetap::store {

// The GPU that memory of this kind lies on, -1: the host.
int64_t device_of_memory(format::MemoryKind kind, int64_t device);

class LiveMemory {
 public:
  // `events` by time; they must outlive this.
  LiveMemory(const RawFacts& facts, ImportDevices& devices, const std::vector<MemoryEvent>& events)
      : facts_(facts), devices_(devices), events_(events) {}

  // To what was held at this time of the trace. Earlier times are taken for the latest so far.
  void advance_to(uint64_t time);
  // -1 when it is the host's, or nobody's.
  int64_t device_of(uint64_t address) const;

 private:
  struct Held {
    uint64_t bytes = 0;
    int64_t device = -1;
  };
  const RawFacts& facts_;
  ImportDevices& devices_;
  const std::vector<MemoryEvent>& events_;
  size_t next_ = 0;
  std::map<uint64_t, Held> held_;  // by address
};

}  // namespace wavetap::store
