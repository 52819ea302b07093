// SvmTable: shared virtual memory, where the GPU uses the program's own pages at their own
// addresses.
//
// SET_ATTR names a range of host memory and says which GPUs may use it, how, and where it should
// live; GET_ATTR reads the attributes back. Pages never move here (every place is the host's
// memory), so a location is only remembered. Access grants become identity mappings in the GPUs'
// page tables.
//
// Thread-safe. Functions return 0 or a positive errno.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "amd/kfd_abi.h"
#include "vgpu/allocation_table.h"
#include "vgpu/gpu.h"

namespace wavetap::vgpu {

class SvmTable {
 public:
  SvmTable(std::span<Gpu* const> gpus, bool enabled, AllocationTable& allocations)
      : gpus_(gpus.begin(), gpus.end()), enabled_(enabled), allocations_(allocations) {}
  SvmTable(const SvmTable&) = delete;
  SvmTable& operator=(const SvmTable&) = delete;

  int set_attributes(uint64_t start, uint64_t size_bytes,
                     std::span<const amd::KfdSvmAttribute> attributes);
  // Fills in the values. A range with differing values gets the driver's "mixed" answer.
  int get_attributes(uint64_t start, uint64_t size_bytes,
                     std::span<amd::KfdSvmAttribute> attributes);
  // The program unmapped this memory: the GPUs lose it.
  void forget(uint64_t start, uint64_t size_bytes);
  // False: forget() has nothing to do. No lock.
  bool in_use() const { return range_count_.load(std::memory_order_acquire) != 0; }

 private:
  enum class Access : uint8_t { kNone, kCopy, kInPlace };
  struct Range {
    uint64_t end = 0;
    uint32_t flags = 0;
    uint32_t granularity = 9;
    uint32_t preferred = amd::kKfdSvmLocationUndefined;
    uint32_t prefetch = amd::kKfdSvmLocationUndefined;
    std::vector<Access> access;  // by GPU index
    uint64_t allocation_id = 0;  // 0: no GPU may use it
  };

  // All need mutex_ held.
  Gpu* find_gpu(uint32_t gpu_id) const;
  void split(uint64_t at);
  void cover(uint64_t start, uint64_t end);
  bool is_valid(const amd::KfdSvmAttribute& attribute) const;
  void apply(Range& range, const amd::KfdSvmAttribute& attribute);
  void refresh_mappings(uint64_t start, const Range& range);
  // Tells the allocation table what the range is now.
  void publish(uint64_t start, Range& range);

  std::mutex mutex_;
  std::vector<Gpu*> gpus_;
  bool enabled_;
  AllocationTable& allocations_;
  std::map<uint64_t, Range> ranges_;  // by start
  std::atomic<size_t> range_count_{0};
};

}  // namespace wavetap::vgpu
