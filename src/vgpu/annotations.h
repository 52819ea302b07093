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

struct UsableRange {
  AddressRange range;
  bool is_read_only = false;
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
  // A block in `around`, which becomes a pool unless it is one: of allocators that do not announce what they cut.
  void add_block(AddressRange around, AddressRange block);
  // Host memory that was made visible at `block`, whose pages are `around`, until it is taken away again.
  void add_locked(uint64_t host, AddressRange around, AddressRange block);
  void remove_locked(uint64_t host);

  // A part of a code object that is only to be read.
  void add_read_only(AddressRange range);
  bool is_read_only(uint64_t address) const;

  // The parts of `range` that are right to use, in order: all of it where there is no pool.
  std::vector<UsableRange> usable(AddressRange range) const;
  // Inside a pool: the block around the address, a freed one that was there, else the nearest. Nothing outside
  // pools, and in one that has no blocks.
  std::optional<NearBlock> nearest(uint64_t address) const;
  bool has_block(uint64_t begin) const;
  // Moves with every change.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Pool {
    AddressRange range;
    std::map<uint64_t, uint64_t> blocks;  // begin to end
    // The last ones that were given back and are nobody's since; none overlaps another.
    std::map<uint64_t, uint64_t> freed;
    std::deque<uint64_t> oldest_freed;  // their begins, or what once was one
  };
  void add_usable(AddressRange range, std::vector<UsableRange>& parts) const;
  void add_block_locked(AddressRange block);
  void end_block_locked(uint64_t address);
  Pool* pool_at(uint64_t address);
  const Pool* pool_at(uint64_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Pool> pools_;            // by begin
  std::map<uint64_t, uint64_t> read_only_;    // begin to end
  std::multimap<uint64_t, uint64_t> locked_;  // where the GPU sees it, by host address
  std::atomic<uint64_t> epoch_{0};
};

}  // namespace wavetap::vgpu
