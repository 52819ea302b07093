// Asynchronous copies that may not have ended, by the signal that will tell. Kept only while there are
// policies (dispatch_policy.h).
#pragma once

#include <cstdint>

#include "agent/recording.h"

namespace wavetap::agent {

class CopiesInFlight {
 public:
  // About to be submitted with this signal.
  void add(uint64_t signal);
  // It will not tell: refused, or destroyed.
  void forget(uint64_t signal);
  // Whether all have ended; forgets those that have.
  bool all_ended();
  void clear();

 private:
  static constexpr uint32_t kMost = 4096;

  LockWord lock_;
  uint32_t count_ = 0;
  bool overflowed_ = false;
  uint64_t signals_[kMost] = {};
};
extern CopiesInFlight g_copies_in_flight WT_HIDDEN;

}  // namespace wavetap::agent
