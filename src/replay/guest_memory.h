// GuestMemory: the address space of a kernel that runs without a driver. Each allocation has its own
// host memory. Where the caller does not choose, allocations lie 4 KiB and more apart and at the same
// addresses in every run, so that an access past a buffer is a fault and not luck. A replay chooses:
// pointers inside its data then mean what they meant when the data was taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "emu/memory.h"

namespace wavetap::replay {

// Of memory behind a queue's address: what kernels may read of it.
inline constexpr uint64_t kQueueBytes = 4096;

// Allocate before the engine runs, lookup() from any thread while it does.
class GuestMemory final : public emu::Memory {
 public:
  struct Access {
    bool writable = true;
    bool executable = false;
  };

  // Zeroed memory of exactly `size_bytes` at a multiple of 4 KiB that is free, with an unmapped page
  // on either side.
  GpuAddr allocate(uint64_t size_bytes) { return allocate(size_bytes, Access()); }
  GpuAddr allocate(uint64_t size_bytes, Access access);

  // The same at `address`, which needs no alignment; allocations may touch. An error when any byte is
  // taken, or the range is empty, wraps around or lies in the engine's apertures.
  Status allocate_at(GpuAddr address, uint64_t size_bytes) {
    return allocate_at(address, size_bytes, Access());
  }
  Status allocate_at(GpuAddr address, uint64_t size_bytes, Access access);

  // The host's view of [address, +size); empty when it is not inside one allocation.
  std::span<std::byte> bytes(GpuAddr address, uint64_t size_bytes);

  // visit(range) for every allocation, by address.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [begin, block] : blocks_) visit(block.range);
  }

  emu::MappedRange lookup(GpuAddr address) noexcept override;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    emu::MappedRange range;
  };
  // Whether no byte of [begin, end) is taken; otherwise *after is the end of what is in the way.
  bool is_free(uint64_t begin, uint64_t end, uint64_t* after) const;
  void insert(uint64_t begin, uint64_t size_bytes, Access access);

  std::map<uint64_t, Block> blocks_;  // by first address
  uint64_t next_ = uint64_t{1} << 32;
};

}  // namespace wavetap::replay
