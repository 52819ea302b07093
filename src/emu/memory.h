// Memory: the GPU's address space as the engine sees it.
//
// Translation hands out whole ranges, so that the engine can keep the last few it used and check an
// access with two compares. A cached range is valid while epoch() has not changed since it was
// looked up; the implementer bumps the epoch after every unmap or change of rights.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/gpu_addr.h"

namespace wavetap::emu {

struct MappedRange {
  uint64_t begin = 0;         // first GPU address
  uint64_t end = 0;           // one past the last; begin == end: nothing mapped here
  std::byte* host = nullptr;  // host address of `begin`
  bool readable = false;
  bool writable = false;
  bool executable = false;

  bool contains(uint64_t address, uint64_t size_bytes) const {
    return address >= begin && address < end && end - address >= size_bytes;
  }
};

// Calls body(arg) with host memory faults (SIGSEGV, SIGBUS) caught. False when there was one; then
// *fault_address is the host address. The engine holds no lock and owns no heap inside body.
using RunGuarded = bool (*)(void (*body)(void*), void* arg, uint64_t* fault_address);

// Global wave sync: 64 counters per GPU on which waves can wait (exec/gws.cc). Atomics, because
// waves of several workers use them in the middle of a slice, where no lock may be held.
struct WaveSync {
  static constexpr uint32_t kResources = 64;
  // Low half: the counter. High half: the generation, which every release of the waiting waves
  // advances.
  std::atomic<uint64_t> resource[kResources] = {};
};

// One object is one GPU.
class Memory {
 public:
  virtual ~Memory() = default;

  // The mapped range around `address`, or an empty range. Thread-safe; takes a lock, so callers
  // cache.
  virtual MappedRange lookup(GpuAddr address) noexcept = 0;

  // Bumped after any mapping was removed or changed. Pairs acquire here with release there.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  WaveSync wave_sync;

 protected:
  std::atomic<uint64_t> epoch_{1};
};

}  // namespace wavetap::emu
