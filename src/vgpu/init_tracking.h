// Which bytes of VRAM have been written, for initcheck: what copies and fills of the packet processors
// add to what kernels store, and which memory can be judged at all.
//
// Judged is VRAM that was asked for by size and belongs to this process alone. Not judged: host memory in
// all its forms, which the host writes without telling; code objects with their variables, which the
// loader fills; memory of or for other processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "sanitize/init_map.h"
#include "vgpu/address_space.h"
#include "vgpu/allocation_table.h"

namespace wavetap::vgpu {

// What it holds before anybody writes is not defined.
bool starts_undefined(const Allocation& allocation);

// Of the process that is asked. Thread-safe.
class InitTracking final : public WriteObserver {
 public:
  // A copy to the host of `count` bytes from `gap` on that nobody has written.
  using OnGap = std::function<void(const Allocation& from, uint64_t gap, uint64_t count)>;

  InitTracking(const AllocationTable& allocations, OnGap on_gap)
      : allocations_(allocations), on_gap_(std::move(on_gap)) {}

  sanitize::InitMap& map() { return map_; }
  // Whether the page has been touched through the program's own mapping, which lies where the GPU has
  // the memory as well. Ours are elsewhere.
  bool host_has_touched(GpuAddr address) const noexcept;

  void wrote(GpuAddr address, uint64_t size_bytes) noexcept override;
  void copied(GpuAddr to, GpuAddr from, uint64_t size_bytes) noexcept override;

 private:
  void look_for_gap(const Allocation& source, GpuAddr from, uint64_t size_bytes);
  void copy_defined(uint64_t to, uint64_t from, uint64_t size_bytes);

  const AllocationTable& allocations_;
  const OnGap on_gap_;
  sanitize::InitMap map_;
};

}  // namespace wavetap::vgpu
