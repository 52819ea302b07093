// Check: a tool that watches dispatches, one at a time. session.cc lists them.
#pragma once

#include "emu/watch.h"
#include "sanitize/finding.h"
#include "sanitize/memory_map.h"

namespace wavetap::sanitize {

class Check : public emu::Watcher {
 public:
  // Before a dispatch. `map` lives until the dispatch is over, and is often the same as last time.
  virtual void begin(const MemoryMap& map) noexcept { (void)map; }
  FindingTable& findings() { return findings_; }

 private:
  FindingTable findings_;
};

}  // namespace wavetap::sanitize
