#include "agent/copies_in_flight.h"

#include "amd/aql.h"

namespace wavetap::agent {

constinit CopiesInFlight g_copies_in_flight;

namespace {

// Signals count down to 0.
bool has_ended(uint64_t signal) {
  return __atomic_load_n(&reinterpret_cast<const amd::Signal*>(signal)->value, __ATOMIC_ACQUIRE) <=
         0;
}

}  // namespace

void CopiesInFlight::add(uint64_t signal) {
  if (signal == 0) return;
  const Locked locked(lock_);
  uint32_t kept = 0;
  bool known = false;
  for (uint32_t i = 0; i < count_; ++i) {
    known |= signals_[i] == signal;
    // Room is made when there is none.
    if (count_ < kMost || !has_ended(signals_[i])) signals_[kept++] = signals_[i];
  }
  count_ = kept;
  if (known) return;
  if (count_ < kMost) signals_[count_++] = signal;
  else overflowed_ = true;
}

void CopiesInFlight::forget(uint64_t signal) {
  const Locked locked(lock_);
  for (uint32_t i = 0; i < count_; ++i) {
    if (signals_[i] != signal) continue;
    signals_[i] = signals_[--count_];
    return;
  }
}

bool CopiesInFlight::all_ended() {
  const Locked locked(lock_);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count_; ++i)
    if (!has_ended(signals_[i])) signals_[kept++] = signals_[i];
  count_ = kept;
  // Of those that had no room nothing is known, until everything else has ended once.
  if (count_ == 0) overflowed_ = false;
  return count_ == 0 && !overflowed_;
}

void CopiesInFlight::clear() {
  const Locked locked(lock_);
  count_ = 0;
  overflowed_ = false;
}

}  // namespace wavetap::agent
