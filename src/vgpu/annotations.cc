#include "vgpu/annotations.h"

#include <algorithm>
#include <mutex>

namespace wavetap::vgpu {
namespace {

constexpr size_t kMostFreed = 1024;  // of one pool

uint64_t distance(const AddressRange& range, uint64_t address) {
  return address < range.begin ? range.begin - address : address - range.end + 1;
}

}  // namespace

const Annotations::Pool* Annotations::pool_at(uint64_t address) const {
  auto after = pools_.upper_bound(address);
  if (after == pools_.begin()) return nullptr;
  const Pool& pool = std::prev(after)->second;
  return pool.range.contains(address) ? &pool : nullptr;
}

Annotations::Pool* Annotations::pool_at(uint64_t address) {
  return const_cast<Pool*>(static_cast<const Annotations*>(this)->pool_at(address));
}

void Annotations::annotate(What what, uint64_t address, uint64_t bytes) {
  const std::unique_lock lock(mutex_);
  switch (what) {
    case What::kPool:
      // The runtime may have given the same memory out again.
      if (bytes != 0) pools_[address] = {{address, address + bytes}, {}, {}};
      break;
    case What::kPoolEnd: pools_.erase(address); break;
    case What::kBlock: {
      Pool* pool = pool_at(address);
      if (pool == nullptr || bytes > pool->range.end - address) return;
      std::erase_if(pool->freed, [&](const AddressRange& old) {
        return old.begin < address + bytes && address < old.end;
      });
      pool->blocks[address] = address + bytes;
      break;
    }
    case What::kBlockEnd: {
      Pool* pool = pool_at(address);
      if (pool == nullptr) return;
      const auto block = pool->blocks.find(address);
      if (block == pool->blocks.end()) return;
      pool->freed.push_back({block->first, block->second});
      if (pool->freed.size() > kMostFreed) pool->freed.pop_front();
      pool->blocks.erase(block);
      break;
    }
  }
  epoch_.fetch_add(1, std::memory_order_release);
}

std::vector<AddressRange> Annotations::usable(AddressRange range) const {
  std::vector<AddressRange> parts;
  const auto add = [&](uint64_t begin, uint64_t end) {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    if (begin < end) parts.push_back({begin, end});
  };
  const std::shared_lock lock(mutex_);
  uint64_t done = range.begin;
  for (const auto& [begin, pool] : pools_) {
    if (pool.range.end <= range.begin || begin >= range.end) continue;
    add(done, begin);
    for (const auto& [block, end] : pool.blocks) add(block, end);
    done = pool.range.end;
  }
  add(done, range.end);
  return parts;
}

std::optional<NearBlock> Annotations::nearest(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const Pool* pool = pool_at(address);
  if (pool == nullptr) return std::nullopt;
  std::optional<NearBlock> best;
  for (const AddressRange& old : pool->freed)
    if (old.contains(address)) best = {old, true};
  auto after = pool->blocks.upper_bound(address);
  const auto offer = [&](const AddressRange& block) {
    if (block.contains(address)) best = {block, false};
    else if (!best || (!best->block.contains(address) &&
                       distance(block, address) < distance(best->block, address)))
      best = {block, false};
  };
  if (after != pool->blocks.begin()) offer({std::prev(after)->first, std::prev(after)->second});
  if (after != pool->blocks.end()) offer({after->first, after->second});
  return best;
}

}  // namespace wavetap::vgpu
