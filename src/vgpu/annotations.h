// Annotations: what an allocator of the program's has cut its memory into (include/wavetap/annotate.h). In a
// pool only the blocks that were announced are right to use.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace wavetap::vgpu {

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

struct NearBlock {
  AddressRange block;
  bool freed = false;
};

// Thread-safe.
class Annotations {
 public:
  // As the header numbers them.
  enum class What : int { kPool = 1, kPoolEnd = 2, kBlock = 3, kBlockEnd = 4 };

  void annotate(What what, uint64_t address, uint64_t bytes);

  // The parts of `range` that are right to use, in order: all of it where there is no pool.
  std::vector<AddressRange> usable(AddressRange range) const;
  // Inside a pool: the block around the address, a freed one that was there, else the nearest. Nothing outside
  // pools, and in one that has no blocks.
  std::optional<NearBlock> nearest(uint64_t address) const;
  // Moves with every change.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Pool {
    AddressRange range;
    std::map<uint64_t, uint64_t> blocks;  // begin to end
    std::deque<AddressRange> freed;       // the last ones
  };
  Pool* pool_at(uint64_t address);
  const Pool* pool_at(uint64_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Pool> pools_;  // by begin
  std::atomic<uint64_t> epoch_{0};
};

}  // namespace wavetap::vgpu
