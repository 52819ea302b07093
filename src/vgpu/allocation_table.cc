#include "vgpu/allocation_table.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "vgpu/gpu.h"

namespace wavetap::vgpu {
namespace {

constexpr size_t kFreedKept = 1 << 16;

uint64_t distance_to(const Allocation& allocation, uint64_t address) {
  const uint64_t end = allocation.va + allocation.size_bytes;
  if (address < allocation.va) return allocation.va - address;
  return address < end ? 0 : address - end + 1;
}

// "VRAM buffer of 4096 bytes at 0x410000 (GPU 0)".
void write_name(const Allocation& allocation, const char* before, const char* behind, char* text,
                size_t size) {
  char owner[32] = "";
  if (allocation.owner != nullptr)
    std::snprintf(owner, sizeof owner, " (GPU %u)", allocation.owner->index);
  std::snprintf(text, size, "%s the %s %s of %llu bytes at %#llx%s%s", before,
                buffer_kind_name(allocation.kind),
                allocation.kind == BufferKind::kSvm ? "range" : "buffer",
                static_cast<unsigned long long>(allocation.size_bytes),
                static_cast<unsigned long long>(allocation.va), owner, behind);
}

}  // namespace

void AllocationTable::for_each(const std::function<void(const Allocation&)>& visit) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [va, allocation] : by_address_) visit(allocation);
}

const Allocation* AllocationTable::find(GpuAddr address) const {
  const Allocation* found = nullptr;
  for (auto it = by_address_.upper_bound(address.value); it != by_address_.begin();) {
    --it;
    if (address.value - it->first >= largest_bytes_) break;
    if (it->second.contains(address) && (found == nullptr || it->second.id > found->id))
      found = &it->second;
  }
  return found;
}

std::optional<Allocation> AllocationTable::lookup(GpuAddr address) const {
  const std::shared_lock lock(mutex_);
  const Allocation* found = find(address);
  if (found == nullptr) return std::nullopt;
  return *found;
}

const Allocation* AllocationTable::find_nearest(GpuAddr address, bool* freed) const {
  *freed = false;
  if (const Allocation* found = find(address)) return found;
  const auto gone = std::find_if(freed_.rbegin(), freed_.rend(),
                                 [&](const Allocation& a) { return a.contains(address); });
  if (gone != freed_.rend()) {
    *freed = true;
    return &*gone;
  }
  const Allocation* best = nullptr;
  for (const auto& [va, allocation] : by_address_) {
    if (best == nullptr ||
        distance_to(allocation, address.value) < distance_to(*best, address.value))
      best = &allocation;
  }
  return best;
}

std::optional<NearAllocation> AllocationTable::nearest(GpuAddr address) const {
  const std::shared_lock lock(mutex_);
  bool freed = false;
  const Allocation* found = find_nearest(address, &freed);
  if (found == nullptr) return std::nullopt;
  return NearAllocation{*found, freed};
}

size_t AllocationTable::count() const {
  const std::shared_lock lock(mutex_);
  return by_address_.size();
}

bool AllocationTable::describe(GpuAddr address, char* text, size_t size) const {
  const std::shared_lock lock(mutex_);
  bool freed = false;
  const Allocation* near = find_nearest(address, &freed);
  if (near == nullptr) return false;
  const char* before = near->contains(address)    ? "inside"
                       : address.value < near->va ? "before"
                                                  : "past";
  write_name(*near, before, freed ? ", which was freed" : "", text, size);
  return true;
}

uint64_t AllocationTable::add(Allocation allocation) {
  if (allocation.va == 0 || allocation.size_bytes == 0) return 0;
  const std::unique_lock lock(mutex_);
  allocation.id = next_id_++;
  largest_bytes_ = std::max(largest_bytes_, allocation.size_bytes);
  by_id_[allocation.id] = by_address_.emplace(allocation.va, allocation);
  epoch_.fetch_add(1, std::memory_order_release);
  return allocation.id;
}

void AllocationTable::set_mapped(uint64_t id, uint32_t mapped_gpus) {
  const std::unique_lock lock(mutex_);
  const auto it = by_id_.find(id);
  if (it == by_id_.end() || it->second->second.mapped_gpus == mapped_gpus) return;
  it->second->second.mapped_gpus = mapped_gpus;
  epoch_.fetch_add(1, std::memory_order_release);
}

void AllocationTable::set_requested(uint64_t va, uint64_t requested_bytes) {
  const std::unique_lock lock(mutex_);
  Allocation* youngest = nullptr;
  const auto [begin, end] = by_address_.equal_range(va);
  for (auto it = begin; it != end; ++it)
    if (youngest == nullptr || it->second.id > youngest->id) youngest = &it->second;
  if (youngest == nullptr || requested_bytes > youngest->size_bytes) return;
  youngest->requested_bytes = requested_bytes;
  epoch_.fetch_add(1, std::memory_order_release);
}

void AllocationTable::remove(uint64_t id) {
  const std::unique_lock lock(mutex_);
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  if (keep_freed_) {
    freed_.push_back(it->second->second);
    if (freed_.size() > kFreedKept) freed_.pop_front();
  }
  by_address_.erase(it->second);
  by_id_.erase(it);
  epoch_.fetch_add(1, std::memory_order_release);
}

}  // namespace wavetap::vgpu
