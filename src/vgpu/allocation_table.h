// AllocationTable: every range of GPU addresses that the driver has handed out and not taken back,
// whoever keeps it: KFD's buffers, ranges bound through DRM (VMM), SVM ranges. For everybody who asks
// "what is at this address": fault messages, hooks that capture or check dispatches.
//
// A table of facts, beside the tables that act: those add and remove entries, nobody changes memory
// through this one. Reading takes a lock of its own and nothing else, so it is allowed on queue
// threads, in hooks and while another thread is inside the driver. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/gpu_addr.h"
#include "vgpu/annotations.h"
#include "vgpu/buffer.h"

namespace wavetap::vgpu {

enum class AllocationOrigin : uint8_t {
  kDriver,    // ALLOC_MEMORY_OF_GPU
  kImported,  // from a dma-buf or an IPC handle
  kBound,     // a range of a buffer bound through DRM: hipMemMap, and what ROCr does from 6 on
  kSvm,       // the program's own pages
};

// `host` is the same bytes in this process. They may go away at any time unless the dispatch that
// uses them runs, so read them through GuestMemory.
struct Allocation {
  uint64_t id = 0;  // never given twice in a process
  uint64_t va = 0;
  uint64_t size_bytes = 0;
  std::byte* host = nullptr;
  BufferKind kind{};
  AllocationOrigin origin{};
  uint64_t requested_bytes = 0;  // what the program asked for, where that is known; else 0
  uint32_t flags = 0;            // amd::kKfdAlloc*, for SVM amd::kKfdSvmFlag*
  const Gpu* owner = nullptr;    // null for SVM
  uint32_t mapped_gpus = 0;      // bit per Gpu::index: who may use it now

  bool contains(GpuAddr address) const { return address.value - va < size_bytes; }
};

struct NearAllocation {
  Allocation allocation;
  bool freed = false;
};

class AllocationTable {
 public:
  // `keep_freed`: remember what was freed, so that an address in it can be named. Only sensible
  // where addresses are not used again.
  explicit AllocationTable(bool keep_freed = false) : keep_freed_(keep_freed) {}
  AllocationTable(const AllocationTable&) = delete;
  AllocationTable& operator=(const AllocationTable&) = delete;

  // --- for those who ask
  // In the order of addresses. `visit` must not call the driver. Buffers without an address (not
  // bound yet) are not here.
  void for_each(const std::function<void(const Allocation&)>& visit) const;
  // The youngest allocation that holds `address`, mapped or not.
  std::optional<Allocation> lookup(GpuAddr address) const;
  // The youngest that holds `address`; else a freed one that did, where those are kept; else the
  // nearest.
  std::optional<NearAllocation> nearest(GpuAddr address) const;
  // Moves with every change, so that a copy can be kept as long as it does not.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  size_t count() const;
  // "inside the VRAM buffer of 2097152 bytes at 0x...", for messages. False: there is none at all.
  bool describe(GpuAddr address, char* text, size_t size) const;

  // What the program has cut its allocations into.
  Annotations& annotations() { return annotations_; }
  const Annotations& annotations() const { return annotations_; }

  // --- for the tables that hand memory out
  // Fills in and returns the id. An allocation at address 0 is not kept; its id is 0.
  uint64_t add(Allocation allocation);
  void set_mapped(uint64_t id, uint32_t mapped_gpus);
  // What the program asked for, of the youngest allocation that begins at `va`; it got whole pages.
  void set_requested(uint64_t va, uint64_t requested_bytes);
  void remove(uint64_t id);

 private:
  using ByAddress = std::multimap<uint64_t, Allocation>;
  // With mutex_ held; null when there is none at all.
  const Allocation* find(GpuAddr address) const;
  const Allocation* find_nearest(GpuAddr address, bool* freed) const;

  mutable std::shared_mutex mutex_;
  const bool keep_freed_;
  ByAddress by_address_;
  std::map<uint64_t, ByAddress::iterator> by_id_;
  std::deque<Allocation> freed_;
  uint64_t largest_bytes_ = 0;  // ever
  uint64_t next_id_ = 1;
  std::atomic<uint64_t> epoch_{0};
  Annotations annotations_;
};

}  // namespace wavetap::vgpu
