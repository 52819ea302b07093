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
  // After begin(): whether the dispatch needs it, as memory is now. `moves_memory`: of the runtime's own kernels.
  virtual bool is_needed(const MemoryMap& map, bool moves_memory) const noexcept {
    (void)map, (void)moves_memory;
    return true;
  }
  // Whether it has to see every dispatch, since it keeps what one leaves for the next.
  virtual bool keeps_state() const noexcept { return false; }
  // Before a dispatch: to be watched for the sake of later ones, with nothing to find in it.
  virtual void set_quiet(bool is_quiet) noexcept { (void)is_quiet; }
  // Of the last dispatch: what it finds may depend on the order in which waves ran.
  virtual bool depends_on_order() const noexcept { return false; }
  // Memory that it took for one dispatch, the most so far; 0: not worth telling.
  virtual uint64_t most_shadow_bytes() const noexcept { return 0; }
  FindingTable& findings() { return findings_; }
  // No check looks at a wave before its first instruction or after its last.
  bool hears_waves() const noexcept final { return false; }

 private:
  FindingTable findings_;
};

}  // namespace wavetap::sanitize
