// The memory GPUs can reach now, by address: what a policy (dispatch_policy.h) needs to know of the
// pointers a kernel is given. Kept only when somebody asks for it before the GPU runtime is loaded.
//
// HIP takes large pieces from the runtime and hands out parts of them, so there are layers: what the
// program asked HIP for, what was allocated from the runtime, and addresses that are merely reserved.
// A question about an address is answered by the first layer that knows it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/hsa_facts.h"
#include "agent/recording.h"
#include "format/capture_request.h"
#include "format/record.h"

namespace wavetap::agent {

enum class MemorySource : uint8_t {
  kHip,       // a function of HIP, with the size the program gave
  kPool,      // hsa_amd_memory_pool_allocate
  kRegion,    // hsa_memory_allocate
  kLocked,    // host memory made visible: hsa_amd_memory_lock and its relatives
  kShared,    // host memory of the SVM interface: hsa_amd_svm_attributes_set
  kImported,  // of another process: hsa_amd_ipc_memory_attach
  kMapped,    // hsa_amd_vmem_map
  kReserved,  // hsa_amd_vmem_address_reserve: addresses without memory
};
const char* memory_source_name(MemorySource source);

struct LiveAllocation {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t gpu_address = 0;  // where GPUs see it; the same, except for locked memory
  MemorySource source{};
  format::MemoryKind kind{};
  uint32_t agent = kNoAgent;  // whose memory it is
  uint32_t flags = 0;         // as the allocating function was given
  bool is_pooled = false;     // hipMallocAsync and its relatives
  format::Owner owner{};      // the call that made it; call 0: none was recorded

  bool contains(uint64_t other) const { return other - address < bytes; }
};

// Thread-safe. One lock; nothing on a hot path comes here. Memory of its own, no heap.
class AllocationTable {
 public:
  // Takes the place of one that begins at the same address. False: no memory for it.
  bool add(const LiveAllocation& allocation);
  // The one that begins there; false: none does.
  bool remove(uint64_t address, LiveAllocation* removed = nullptr);
  // The one that holds the address.
  bool find(uint64_t address, LiveAllocation* found);
  // In order of addresses, under the lock.
  template <class Visit>
  void each(Visit visit) {
    const Locked locked(lock_);
    for (size_t b = 0; b < block_count_; ++b)
      for (uint32_t i = 0; i < blocks_[b]->count; ++i) visit(blocks_[b]->entries[i]);
  }
  void clear();

 private:
  // Sorted, and sorted among each other: what is moved for an insertion is one of these.
  struct Block {
    static constexpr uint32_t kMost = 127;
    uint32_t count;
    LiveAllocation entries[kMost];
  };
  static constexpr size_t kMaxBlocks = 1 << 16;

  bool make_room();
  Block* split(size_t block);
  size_t block_of(uint64_t address) const;

  LockWord lock_;
  Block** blocks_ = nullptr;  // room for kMaxBlocks
  size_t block_count_ = 0;
};

enum class MemoryLayer : uint8_t { kHip, kRuntime, kReserved };
AllocationTable& allocations(MemoryLayer layer);

// From now on allocations are noted. What was allocated before is not known, so: before the runtime is
// loaded.
void want_allocations();
extern std::atomic<bool> g_allocations_wanted WT_HIDDEN;
inline bool are_allocations_wanted() {
  return g_allocations_wanted.load(std::memory_order_relaxed);
}

// The innermost allocation that holds the address; false: none does.
bool find_allocation(uint64_t address, LiveAllocation* found);

// For hooks, when allocations are wanted. The owner is this thread's call.
void note_allocation(LiveAllocation allocation);
// Memory that the program asked HIP for.
void note_hip_allocation(const void* address, uint64_t bytes, format::MemoryKind kind,
                         uint32_t flags, bool is_pooled = false);
// What is live of that, as the captures have it.
void each_hip_allocation(format::HipAllocationVisitor visit, void* context);
// Before the memory goes: its address may be somebody else's at once. Gives back what was known, for
// note_allocation() when the function fails.
bool forget_allocation(MemoryLayer layer, const void* address, LiveAllocation* known);

}  // namespace wavetap::agent
