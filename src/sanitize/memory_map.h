// MemoryMap: what a sanitizer asks about global memory. Whoever hands out the memory answers; which
// addresses the GPU may use at all is its page table's affair (emu::Memory).
#pragma once

#include <cstdint>
#include <vector>

#include "base/gpu_addr.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

class InitMap;     // init_map.h
class DeviceHeap;  // device_heap.h

// Bytes that are right to use.
struct Block {
  uint64_t begin = 0;
  uint64_t end = 0;  // one past the last byte that was asked for
  bool writable = false;
  // What it holds before anybody writes is not defined, and everybody who writes to it is seen.
  bool starts_undefined = false;
};

// Thread-safe. Touches no guest memory.
class MemoryMap {
 public:
  virtual ~MemoryMap() = default;

  // Moves with every change of what follows.
  virtual uint64_t epoch() const noexcept = 0;
  // What the GPU has mapped, sorted by `begin`.
  virtual void list(std::vector<Block>& blocks) const noexcept = 0;
  // The allocation around the address, freed ones included, else the nearest.
  virtual Neighbour neighbour(GpuAddr address) const noexcept = 0;
  // Which bytes have been written; null: nobody knows.
  virtual InitMap* initialised() const noexcept { return nullptr; }
  // Inside a part of a code object that is only to be read.
  virtual bool is_read_only(GpuAddr address) const noexcept {
    (void)address;
    return false;
  }
  // What kernels allocate themselves; null: nobody looks.
  virtual DeviceHeap* heap() const noexcept { return nullptr; }
  // Whether the host may have written around the address through a mapping of its own.
  virtual bool host_has_touched(GpuAddr address) const noexcept {
    (void)address;
    return false;
  }
};

}  // namespace wavetap::sanitize
