// What orders the accesses of waves besides barriers: atomics, and stores that somebody reads with an
// atomic or uncached load.
//
// AMD's machine code does not tell an atomic store from a plain one, so what a store lets go of is
// worked out when somebody reads it as a flag: everything its wave had waited for by then. For that the
// history of each wave is kept (when it waited for its stores, when it passed a barrier, what it
// learned from others), in the dispatches that have such loads at all.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sanitize/barrier_waits.h"
#include "sanitize/race_clock.h"
#include "sanitize/race_record.h"
#include "sanitize/race_shadow.h"

namespace wavetap::sanitize {

inline constexpr uint32_t kMaxWaves = 32;  // of a workgroup
using WaveClocks = std::array<uint16_t, kMaxWaves>;

// One wave's time, as far as races go.
struct WaveTime {
  uint16_t clock = 1;
  uint16_t completed = 0;   // up to here its stores have been waited for
  bool has_stores = false;  // to global memory, likewise
  bool has_news = false;    // it accessed memory since its clock last moved
  WaveClocks inside = {};   // what is over for it, of its own workgroup
  KnownClocks seen;         // of others
  // That part of it that was followed by an invalidation of the caches, and which of them have been
  // invalidated since it last learned something.
  KnownClocks acquired;
  uint8_t invalidated = 0;
  bool entered_fresh = false;  // its caches were empty when it came to ds_gws_barrier
  OpenOperations open;         // where that is watched

  // The last clock at which it accessed anything.
  uint16_t done() const { return has_news ? clock : static_cast<uint16_t>(clock - 1); }
  void tick() {
    if (has_news && clock < Record::kMaxClock) ++clock;
    has_news = has_stores = false;
  }
};

// A workgroup's.
struct GroupTime {
  uint32_t number = 0;  // modulo Record::kGroups
  uint32_t wave_count = 0;
  WaveClocks sealed = {};       // by its last barrier
  uint16_t sealed_for_all = 0;  // the lowest of them
  std::vector<WaveTime> waves;
  std::unordered_map<uint32_t, WaveClocks> lds_atomics;  // by address: what they let go of
  // Where that is watched: from which clock on the last barrier came before a wave's operations were done,
  // by OpenClass and wave; 0: it did not.
  bool watches_waits = false;
  bool has_late = false;
  std::array<WaveClocks, kOpenClasses> late = {};

  void pass_barrier();
  // Lowers clocks to what is over, without what is late of a class. What a wave has waited for since is over for who
  // has learned of it since: their clock is past that barrier.
  void leave_out_late(OpenClass of, WaveClocks& clocks) const;
};

// Of one dispatch. Thread-safe.
class RaceOrder {
 public:
  void clear();

  // The wave has waited for all its stores.
  void complete(const GroupTime& group, uint32_t wave);
  void pass_barrier(const GroupTime& group);
  // The wave lets go, at an atomic or a ds_gws_barrier (address 0), and learns what others let go of.
  void release(const GroupTime& group, uint32_t wave, uint64_t address);
  void acquire(GroupTime& group, uint32_t wave, uint64_t address);
  // The wave has read, as a flag, what `store` stored.
  void acquire_store(GroupTime& group, uint32_t wave, Record store);

 private:
  struct WaveHistory {
    std::vector<uint16_t> completed;                        // clocks, rising
    std::vector<std::pair<uint16_t, KnownClocks>> learned;  // since which clock
  };
  struct GroupHistory {
    std::vector<WaveClocks> barriers;
    std::vector<WaveHistory> waves;
  };
  // Entries of all that is kept in `learned`; beyond it a flag counts as letting go of everything.
  static constexpr size_t kMostLearned = 1 << 22;

  GroupHistory& history_of(const GroupTime& group);
  void learn(GroupTime& group, uint32_t wave, const KnownClocks& news);

  std::mutex mutex_;
  std::unordered_map<uint32_t, GroupHistory> groups_;
  std::unordered_map<uint64_t, KnownClocks> atomics_;
  size_t learned_ = 0;
};

}  // namespace wavetap::sanitize
