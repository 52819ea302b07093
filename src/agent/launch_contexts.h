// Where dispatches come from: the host's stack when a packet was reserved, and whether the thread was in a
// range of interest. Kept only while somebody captures.
//
// The thread that launches reserves the packet; the doorbell, and the GPU, may be another thread's. So
// contexts are kept with the packet's index, as its owner is (hsa_queue.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/recording.h"
#include "format/capture_request.h"

namespace wavetap::agent {

extern std::atomic<bool> g_contexts_wanted WT_HIDDEN;
inline bool are_contexts_wanted() { return g_contexts_wanted.load(std::memory_order_relaxed); }
// Before the GPU runtime is loaded.
void want_contexts();

// By packet. One thread writes an entry, before the packet becomes valid; those who have seen the
// packet read it.
class LaunchContexts {
 public:
  // Room for the contexts of `packets` packets, a power of two. Memory is taken as it is used.
  void open(uint64_t packets);
  void close();

  // This thread launches packets [first, first + count).
  void note(uint64_t first, uint64_t count);
  // Null: not known.
  const format::LaunchContext* find(uint64_t packet) const;
  // Packet `packet` goes to place `real` of the queue the GPU reads.
  void note_place(uint64_t real, uint64_t packet);
  const format::LaunchContext* find_by_place(uint64_t real) const;

 private:
  struct Entry {
    std::atomic<uint64_t> packet;  // plus one
    format::LaunchContext context;
    // Of another packet: the one that went to this place of the real queue.
    std::atomic<uint64_t> place;  // plus one
    std::atomic<uint64_t> placed;
  };

  Entry* entries_;
  uint64_t mask_;
};

}  // namespace wavetap::agent
