#include "agent/allocations.h"

#include <string.h>

#include "agent/hsa_table.h"

namespace wavetap::agent {
namespace {

constinit AllocationTable g_tables[3];

MemoryLayer layer_of(MemorySource source) {
  switch (source) {
    case MemorySource::kHip: return MemoryLayer::kHip;
    case MemorySource::kReserved: return MemoryLayer::kReserved;
    default: return MemoryLayer::kRuntime;
  }
}

char* map(size_t bytes) {
  return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

}  // namespace

constinit std::atomic<bool> g_allocations_wanted{false};

const char* memory_source_name(MemorySource source) {
  switch (source) {
    case MemorySource::kHip: return "HIP";
    case MemorySource::kPool: return "pool";
    case MemorySource::kRegion: return "region";
    case MemorySource::kLocked: return "locked";
    case MemorySource::kShared: return "shared";
    case MemorySource::kImported: return "imported";
    case MemorySource::kMapped: return "mapped";
    case MemorySource::kReserved: return "reserved";
  }
  return "?";
}

// ---- the table ---------------------------------------------------------------------------------

// The last block that begins at or before the address; the first when none does.
size_t AllocationTable::block_of(uint64_t address) const {
  size_t low = 0;
  size_t high = block_count_;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (blocks_[middle]->entries[0].address <= address) low = middle;
    else high = middle;
  }
  return low;
}

bool AllocationTable::make_room() {
  if (blocks_ == nullptr) blocks_ = reinterpret_cast<Block**>(map(kMaxBlocks * sizeof(Block*)));
  if (blocks_ == nullptr) return false;
  if (block_count_ != 0) return true;
  blocks_[0] = reinterpret_cast<Block*>(map(sizeof(Block)));
  if (blocks_[0] == nullptr) return false;
  block_count_ = 1;
  return true;
}

// Moves the upper half of a full block into one of its own.
AllocationTable::Block* AllocationTable::split(size_t block) {
  if (block_count_ == kMaxBlocks) return nullptr;
  auto* const fresh = reinterpret_cast<Block*>(map(sizeof(Block)));
  if (fresh == nullptr) return nullptr;
  Block& full = *blocks_[block];
  constexpr uint32_t kKept = Block::kMost / 2;
  fresh->count = full.count - kKept;
  memcpy(fresh->entries, full.entries + kKept, fresh->count * sizeof(LiveAllocation));
  full.count = kKept;
  memmove(blocks_ + block + 2, blocks_ + block + 1, (block_count_ - block - 1) * sizeof(Block*));
  blocks_[block + 1] = fresh;
  ++block_count_;
  return fresh;
}

bool AllocationTable::add(const LiveAllocation& allocation) {
  const Locked locked(lock_);
  if (!make_room()) return false;
  const size_t index = block_of(allocation.address);
  Block* block = blocks_[index];
  if (block->count == Block::kMost) {
    Block* const upper = split(index);
    if (upper == nullptr) return false;
    if (upper->entries[0].address <= allocation.address) block = upper;
  }
  uint32_t at = block->count;
  while (at > 0 && block->entries[at - 1].address >= allocation.address) --at;
  if (at < block->count && block->entries[at].address == allocation.address) {
    block->entries[at] = allocation;
    return true;
  }
  memmove(block->entries + at + 1, block->entries + at,
          (block->count - at) * sizeof(LiveAllocation));
  block->entries[at] = allocation;
  ++block->count;
  return true;
}

bool AllocationTable::remove(uint64_t address, LiveAllocation* removed) {
  const Locked locked(lock_);
  if (block_count_ == 0) return false;
  const size_t index = block_of(address);
  Block& block = *blocks_[index];
  for (uint32_t i = 0; i < block.count; ++i) {
    if (block.entries[i].address != address) continue;
    if (removed != nullptr) *removed = block.entries[i];
    --block.count;
    memmove(block.entries + i, block.entries + i + 1, (block.count - i) * sizeof(LiveAllocation));
    if (block.count == 0 && block_count_ > 1) {
      sys::unmap(&block, sizeof(Block));
      --block_count_;
      memmove(blocks_ + index, blocks_ + index + 1, (block_count_ - index) * sizeof(Block*));
    }
    return true;
  }
  return false;
}

bool AllocationTable::find(uint64_t address, LiveAllocation* found) {
  const Locked locked(lock_);
  if (block_count_ == 0) return false;
  const Block& block = *blocks_[block_of(address)];
  for (uint32_t i = block.count; i-- > 0;) {
    if (block.entries[i].address > address) continue;
    if (!block.entries[i].contains(address)) return false;
    *found = block.entries[i];
    return true;
  }
  return false;
}

void AllocationTable::clear() {
  const Locked locked(lock_);
  for (size_t b = 0; b < block_count_; ++b) sys::unmap(blocks_[b], sizeof(Block));
  block_count_ = 0;
}

// ---- the layers --------------------------------------------------------------------------------

AllocationTable& allocations(MemoryLayer layer) { return g_tables[static_cast<size_t>(layer)]; }

void want_allocations() {
  g_allocations_wanted.store(true, std::memory_order_relaxed);
  record::watch_calls();
}

bool find_allocation(uint64_t address, LiveAllocation* found) {
  for (const MemoryLayer layer : {MemoryLayer::kHip, MemoryLayer::kRuntime, MemoryLayer::kReserved})
    if (allocations(layer).find(address, found)) return true;
  return false;
}

void note_allocation(LiveAllocation allocation) {
  if (allocation.address == 0 || allocation.bytes == 0) return;
  if (allocation.gpu_address == 0) allocation.gpu_address = allocation.address;
  if (allocation.owner.call == 0) {
    const Stream* const own = recording() ? stream() : nullptr;
    if (own != nullptr) allocation.owner = own->owner();
  }
  if (!allocations(layer_of(allocation.source)).add(allocation))
    count_loss(format::Loss::kNoMemory);
}

void note_hip_allocation(const void* address, uint64_t bytes, format::MemoryKind kind,
                         uint32_t flags, bool is_pooled) {
  LiveAllocation allocation;
  allocation.address = reinterpret_cast<uint64_t>(address);
  allocation.bytes = bytes;
  allocation.source = MemorySource::kHip;
  allocation.kind = kind;
  allocation.agent = is_hsa_loaded() ? agent_of_address(address) : kNoAgent;
  allocation.flags = flags;
  allocation.is_pooled = is_pooled;
  note_allocation(allocation);
}

void each_hip_allocation(format::HipAllocationVisitor visit, void* context) {
  allocations(MemoryLayer::kHip).each([&](const LiveAllocation& live) {
    using format::HipMemory;
    format::HipAllocation told{live.address, live.bytes, HipMemory::kDevice};
    if (live.kind == format::MemoryKind::kManaged) told.made = HipMemory::kManaged;
    else if (live.kind == format::MemoryKind::kHost) told.made = HipMemory::kPinned;
    else if (live.is_pooled) told.made = HipMemory::kPool;
    visit(context, &told);
  });
}

bool forget_allocation(MemoryLayer layer, const void* address, LiveAllocation* known) {
  return allocations(layer).remove(reinterpret_cast<uint64_t>(address), known);
}

}  // namespace wavetap::agent
