// ProbeRing of one GPU (format/probe_ring.h): host memory that its kernels write records to, and the blocks that
// tell each dispatch where. Everything is allocated before the first dispatch; what is used up is
// refused and counted, never waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/probe_counts.h"
#include "format/probe_ring.h"

namespace wavetap::agent {

// What a dispatch is given: the block, and room for the kernel's arguments behind it.
struct ProbeSlot {
  static constexpr size_t kArgumentBytes = 4096 - sizeof(format::ProbeLaunch);

  format::ProbeLaunch launch;
  std::byte arguments[kArgumentBytes];
};
static_assert(sizeof(ProbeSlot) == 4096);

class ProbeDevice {
 public:
  // Null: the runtime gives no memory for it. `wants`: ProbeWants of all dispatches.
  static ProbeDevice* make(uint64_t agent, uint64_t ring_bytes, uint32_t wants);

  uint64_t agent() const { return agent_; }
  // Any thread. Null: too many dispatches at once. What the block says about memory is filled in, for a
  // kernel of so many sites.
  ProbeSlot* take(uint32_t sites);
  // Hands it over to the GPU: who drains may find it done from now on.
  void start(ProbeSlot& slot, uint64_t lanes);

  // --- One thread at a time.
  // Takes out complete records: appends their words to `out`, until there are none or `out` holds
  // `most` words. False: what the ring holds is no record, and never will be.
  bool drain(std::vector<uint64_t>& out, size_t most);
  // Dispatches that were complete before the last drain() began, or all of them: f(launch, counts), where
  // counts is null when they cannot be had; frees them.
  template <class F>
  void finish(bool all, F&& f) {
    for (uint32_t i = 0; i < kSlots; ++i)
      if (state_[i].load(std::memory_order_acquire) == kRunning && (all || seen_done_[i])) {
        const bool is_done = seen_done_[i];
        f(slots_[i].launch, read_counts(slots_[i].launch, is_done) ? &counts_ : nullptr);
        seen_done_[i] = false;
        // Where waves may still count nothing else is put.
        if (is_done) free_slot(i);
        else state_[i].store(kDead, std::memory_order_release);
      }
  }
  // Whether a dispatch is on its way.
  bool is_busy() const;
  uint64_t lost() const;

 private:
  enum : uint32_t { kFree, kTaken, kRunning, kDead };
  static constexpr uint32_t kSlots = 512;

  bool read_counts(const format::ProbeLaunch& launch, bool is_done);
  void free_slot(uint32_t slot);

  uint64_t agent_ = 0;
  format::ProbeRing* ring_ = nullptr;
  uint64_t* words_ = nullptr;
  uint64_t word_mask_ = 0;
  uint64_t usable_bytes_ = 0;
  uint64_t tail_ = 0;
  bool is_damaged_ = false;
  ProbeSlot* slots_ = nullptr;
  std::atomic<uint32_t> state_[kSlots] = {};
  uint64_t lanes_[kSlots] = {};  // until it is done
  bool seen_done_[kSlots] = {};
  std::atomic<uint32_t> next_{0};
  bool has_tables_ = false;
  CountTables tables_;
  std::vector<format::ProbeCount> counts_;
};

}  // namespace wavetap::agent
