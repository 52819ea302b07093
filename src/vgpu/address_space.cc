#include "vgpu/address_space.h"

#include <limits>
#include <mutex>

namespace wavetap::vgpu {

void AddressSpace::map(uint64_t begin, uint64_t size_bytes, std::byte* host, bool writable,
                       bool executable) {
  if (size_bytes == 0 || begin > std::numeric_limits<uint64_t>::max() - size_bytes) return;
  const std::unique_lock lock(mutex_);
  const bool replaced = cut(begin, begin + size_bytes);
  ranges_[begin] = {begin, begin + size_bytes, host, /*readable=*/true, writable, executable};
  if (replaced) bump_epoch();
}

bool AddressSpace::unmap(uint64_t begin, uint64_t size_bytes) {
  const uint64_t room = std::numeric_limits<uint64_t>::max() - begin;
  const std::unique_lock lock(mutex_);
  const bool removed = cut(begin, begin + (size_bytes < room ? size_bytes : room));
  if (removed) bump_epoch();
  return removed;
}

void AddressSpace::clear() {
  const std::unique_lock lock(mutex_);
  ranges_.clear();
  bump_epoch();
}

emu::MappedRange AddressSpace::lookup(GpuAddr address) noexcept {
  const std::shared_lock lock(mutex_);
  auto it = ranges_.upper_bound(address.value);
  if (it == ranges_.begin()) return {};
  --it;
  if (address.value >= it->second.end) return {};
  return it->second;
}

std::byte* AddressSpace::host_pointer(GpuAddr address, uint64_t size_bytes, bool write) noexcept {
  const emu::MappedRange range = lookup(address);
  if (!range.contains(address.value, size_bytes)) return nullptr;
  if (write ? !range.writable : !range.readable) return nullptr;
  return range.host + (address.value - range.begin);
}

std::optional<emu::MappedRange> AddressSpace::nearest(GpuAddr address) noexcept {
  const std::shared_lock lock(mutex_);
  if (ranges_.empty()) return std::nullopt;
  const auto after = ranges_.upper_bound(address.value);
  if (after == ranges_.begin()) return after->second;
  const emu::MappedRange& before = std::prev(after)->second;
  if (after == ranges_.end() || address.value < before.end) return before;
  return address.value - before.end < after->second.begin - address.value ? before : after->second;
}

size_t AddressSpace::range_count() const {
  const std::shared_lock lock(mutex_);
  return ranges_.size();
}

std::vector<emu::MappedRange> AddressSpace::ranges() const {
  const std::shared_lock lock(mutex_);
  std::vector<emu::MappedRange> all;
  all.reserve(ranges_.size());
  for (const auto& [begin, range] : ranges_) all.push_back(range);
  return all;
}

bool AddressSpace::cut(uint64_t begin, uint64_t end) {
  if (begin >= end) return false;
  bool found = false;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != ranges_.end() && it->second.begin < end) {
    found = true;
    const emu::MappedRange old = it->second;
    it = ranges_.erase(it);
    if (old.begin < begin) {
      emu::MappedRange head = old;
      head.end = begin;
      ranges_[head.begin] = head;
    }
    if (old.end > end) {
      emu::MappedRange tail = old;
      tail.begin = end;
      tail.host = old.host + (end - old.begin);
      ranges_[tail.begin] = tail;
      break;
    }
  }
  return found;
}

// Pairs with the acquire load in emu::Memory::epoch(): whoever sees the new epoch finds the new
// table.
void AddressSpace::bump_epoch() { epoch_.fetch_add(1, std::memory_order_release); }

}  // namespace wavetap::vgpu
