// AddressSpace: the GPU page table. Sorted, non-overlapping ranges of GPU addresses with the host
// address behind each and the GPU's rights. Thread-safe.
//
// Readers (the engine's waves, the packet processors) keep the range they found and look again only
// when epoch() moved, so lookups are rare and share a lock; the epoch moves only when something
// that could have been cached is removed or changed, never for a mapping of fresh addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "emu/memory.h"

namespace wavetap::vgpu {

// Told what packets wrote, after they did. Kernels' stores are not among it. Thread-safe.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  virtual void wrote(GpuAddr address, uint64_t size_bytes) noexcept = 0;
  virtual void copied(GpuAddr to, GpuAddr from, uint64_t size_bytes) noexcept = 0;
};

class AddressSpace final : public emu::Memory {
 public:
  // Maps [begin, begin+size). Replaces whatever part of older mappings it covers. An empty range,
  // or one that wraps around, is ignored.
  void map(uint64_t begin, uint64_t size_bytes, std::byte* host, bool writable, bool executable);
  // Removes every mapping inside the range; partial overlaps are cut. True when anything was
  // removed.
  bool unmap(uint64_t begin, uint64_t size_bytes);
  void clear();

  emu::MappedRange lookup(GpuAddr address) noexcept override;

  // Set before the first packet, if at all; null: nobody asks.
  void set_write_observer(WriteObserver* observer) { write_observer_ = observer; }
  WriteObserver* write_observer() const { return write_observer_; }

  // Host pointer for [address, +size) when it lies in one mapping with the needed right, else null.
  std::byte* host_pointer(GpuAddr address, uint64_t size_bytes, bool write) noexcept;
  // The mapping nearest to `address` (for fault messages).
  std::optional<emu::MappedRange> nearest(GpuAddr address) noexcept;
  size_t range_count() const;
  // All mappings as they are now, in the order of addresses.
  std::vector<emu::MappedRange> ranges() const;

 private:
  // Cuts [begin, end) out of ranges_; true when anything was there. Needs mutex_ held exclusively.
  bool cut(uint64_t begin, uint64_t end);
  void bump_epoch();

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, emu::MappedRange> ranges_;  // by begin
  WriteObserver* write_observer_ = nullptr;
};

}  // namespace wavetap::vgpu
