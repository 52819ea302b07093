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

void Annotations::add_block_locked(AddressRange block) {
  Pool* pool = pool_at(block.begin);
  if (pool == nullptr || block.end < block.begin || block.end > pool->range.end) return;
  auto old = pool->freed.upper_bound(block.begin);
  if (old != pool->freed.begin() && std::prev(old)->second > block.begin) --old;
  while (old != pool->freed.end() && old->first < block.end) old = pool->freed.erase(old);
  pool->blocks[block.begin] = block.end;
}

void Annotations::end_block_locked(uint64_t address) {
  Pool* pool = pool_at(address);
  if (pool == nullptr) return;
  const auto block = pool->blocks.find(address);
  if (block == pool->blocks.end()) return;
  pool->freed[block->first] = block->second;
  pool->oldest_freed.push_back(block->first);
  if (pool->oldest_freed.size() > kMostFreed) {
    pool->freed.erase(pool->oldest_freed.front());
    pool->oldest_freed.pop_front();
  }
  pool->blocks.erase(block);
}

void Annotations::add_block(AddressRange around, AddressRange block) {
  const std::unique_lock lock(mutex_);
  if (pool_at(block.begin) == nullptr) pools_[around.begin] = {around, {}, {}, {}};
  add_block_locked(block);
  epoch_.fetch_add(1, std::memory_order_release);
}

void Annotations::add_locked(uint64_t host, AddressRange around, AddressRange block) {
  add_block(around, block);
  const std::unique_lock lock(mutex_);
  locked_.emplace(host, block.begin);
}

void Annotations::remove_locked(uint64_t host) {
  const std::unique_lock lock(mutex_);
  const auto known = locked_.find(host);
  if (known == locked_.end()) return;
  const uint64_t begin = known->second;
  locked_.erase(known);
  // Where the GPU sees the program's own memory at the same place, it may be used without being made visible first.
  Pool* pool = begin == host ? pool_at(begin) : nullptr;
  if (pool != nullptr) pool->blocks.erase(begin);
  else end_block_locked(begin);
  if (pool != nullptr && pool->blocks.empty()) pools_.erase(pool->range.begin);
  epoch_.fetch_add(1, std::memory_order_release);
}

void Annotations::annotate(What what, uint64_t address, uint64_t bytes) {
  const std::unique_lock lock(mutex_);
  switch (what) {
    case What::kPool:
      // The runtime may have given the same memory out again.
      if (bytes != 0) pools_[address] = {{address, address + bytes}, {}, {}, {}};
      break;
    case What::kPoolEnd: pools_.erase(address); break;
    case What::kBlock: add_block_locked({address, address + bytes}); break;
    case What::kBlockEnd: end_block_locked(address); break;
  }
  epoch_.fetch_add(1, std::memory_order_release);
}

bool Annotations::has_block(uint64_t begin) const {
  const std::shared_lock lock(mutex_);
  const Pool* pool = pool_at(begin);
  return pool != nullptr && pool->blocks.count(begin) != 0;
}

void Annotations::add_read_only(AddressRange range) {
  const std::unique_lock lock(mutex_);
  read_only_[range.begin] = range.end;
  epoch_.fetch_add(1, std::memory_order_release);
}

bool Annotations::is_read_only(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto above = read_only_.upper_bound(address);
  return above != read_only_.begin() && address < std::prev(above)->second;
}

// Cuts what is only to be read out of what is not.
void Annotations::add_usable(AddressRange range, std::vector<UsableRange>& parts) const {
  auto next = read_only_.upper_bound(range.begin);
  if (next != read_only_.begin() && std::prev(next)->second > range.begin) --next;
  const auto add = [&](uint64_t begin, uint64_t end, bool is_read_only) {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    if (begin < end) parts.push_back({{begin, end}, is_read_only});
  };
  uint64_t done = range.begin;
  for (; next != read_only_.end() && next->first < range.end; ++next) {
    add(done, next->first, false);
    add(next->first, next->second, true);
    done = next->second;
  }
  add(done, range.end, false);
}

std::vector<UsableRange> Annotations::usable(AddressRange range) const {
  std::vector<UsableRange> parts;
  const auto add = [&](uint64_t begin, uint64_t end) {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    if (begin < end) add_usable({begin, end}, parts);
  };
  const std::shared_lock lock(mutex_);
  uint64_t done = range.begin;
  auto next = pools_.upper_bound(range.begin);
  if (next != pools_.begin() && std::prev(next)->second.range.end > range.begin) --next;
  for (; next != pools_.end() && next->first < range.end; ++next) {
    add(done, next->first);
    for (const auto& [block, end] : next->second.blocks) add(block, end);
    done = next->second.range.end;
  }
  add(done, range.end);
  return parts;
}

std::optional<NearBlock> Annotations::nearest(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const Pool* pool = pool_at(address);
  if (pool == nullptr) return std::nullopt;
  std::optional<NearBlock> best;
  const auto beyond = pool->freed.upper_bound(address);
  if (beyond != pool->freed.begin())
    if (const AddressRange old{std::prev(beyond)->first, std::prev(beyond)->second};
        old.contains(address))
      best = {old, true};
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
