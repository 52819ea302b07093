// GuestMemory: the address space of a kernel run by `wavetap gpu exec`. Each allocation gets its
// own pages, with an unmapped page on either side, so an access past a buffer is a fault and not
// luck. Addresses are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/gpu_addr.h"
#include "emu/memory.h"

namespace wavetap::cli {

// allocate() before the engine runs, lookup() from any thread while it does.
class GuestMemory final : public emu::Memory {
 public:
  struct Access {
    bool writable = true;
    bool executable = false;
  };

  // Zeroed memory of exactly `size_bytes` at a multiple of 4 KiB.
  GpuAddr allocate(uint64_t size_bytes) { return allocate(size_bytes, Access()); }
  GpuAddr allocate(uint64_t size_bytes, Access access);

  // The host's view of [address, +size); empty when it is not inside one allocation.
  std::span<std::byte> bytes(GpuAddr address, uint64_t size_bytes);

  emu::MappedRange lookup(GpuAddr address) noexcept override;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    emu::MappedRange range;
  };
  std::map<uint64_t, Block> blocks_;  // by first address
  uint64_t next_ = uint64_t{1} << 32;
};

}  // namespace wavetap::cli
