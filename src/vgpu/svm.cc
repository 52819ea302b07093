#include "vgpu/svm.h"

#include <errno.h>

#include <algorithm>

#include "base/sys_files.h"

namespace wavetap::vgpu {
namespace {

using Attr = amd::KfdSvmAttr;

constexpr uint64_t kLimit = 1ull << 48;
constexpr uint32_t kKnownFlags = 0x7f;
constexpr uint32_t kMostGranularity = 63;

}  // namespace

Gpu* SvmTable::find_gpu(uint32_t gpu_id) const {
  const auto it =
      std::find_if(gpus_.begin(), gpus_.end(), [&](Gpu* gpu) { return gpu->gpu_id == gpu_id; });
  return it == gpus_.end() ? nullptr : *it;
}

bool SvmTable::is_valid(const amd::KfdSvmAttribute& attribute) const {
  switch (static_cast<Attr>(attribute.type)) {
    case Attr::kPreferredLocation:
    case Attr::kPrefetchLocation:
      return attribute.value == 0 || attribute.value == amd::kKfdSvmLocationUndefined ||
             find_gpu(attribute.value) != nullptr;
    case Attr::kAccess:
    case Attr::kAccessInPlace:
    case Attr::kNoAccess: return find_gpu(attribute.value) != nullptr;
    case Attr::kSetFlags:
    case Attr::kClearFlags: return (attribute.value & ~kKnownFlags) == 0;
    case Attr::kGranularity: return attribute.value <= kMostGranularity;
  }
  return false;
}

// Makes `at` a boundary of ranges.
void SvmTable::split(uint64_t at) {
  auto it = ranges_.upper_bound(at);
  if (it == ranges_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Range tail = it->second;
  tail.allocation_id = 0;
  it->second.end = at;
  publish(it->first, it->second);
  publish(at, ranges_[at] = std::move(tail));
}

void SvmTable::publish(uint64_t start, Range& range) {
  allocations_.remove(range.allocation_id);
  uint32_t mapped = 0;
  for (const Gpu* gpu : gpus_)
    if (range.access[gpu->index] != Access::kNone) mapped |= 1u << gpu->index;
  range.allocation_id = mapped == 0 ? 0
                                    : allocations_.add({.va = start,
                                                        .size_bytes = range.end - start,
                                                        .host = reinterpret_cast<std::byte*>(start),
                                                        .kind = BufferKind::kSvm,
                                                        .origin = AllocationOrigin::kSvm,
                                                        .flags = range.flags,
                                                        .owner = nullptr,
                                                        .mapped_gpus = mapped});
}

// Fills the gaps of [start, end) with default ranges, and makes both ends boundaries.
void SvmTable::cover(uint64_t start, uint64_t end) {
  split(start);
  split(end);
  uint64_t at = start;
  auto it = ranges_.lower_bound(start);
  while (at < end) {
    const uint64_t next = it == ranges_.end() ? end : std::min(end, it->first);
    if (at < next) {
      Range fresh;
      fresh.end = next;
      fresh.flags = amd::kKfdSvmFlagHostAccess | amd::kKfdSvmFlagCoherent;
      fresh.access.resize(gpus_.size(), Access::kNone);
      ranges_[at] = std::move(fresh);
    }
    if (it == ranges_.end() || it->first >= end) break;
    at = it->second.end;
    ++it;
  }
}

void SvmTable::apply(Range& range, const amd::KfdSvmAttribute& attribute) {
  const auto grant = [&](Access access) {
    range.access[find_gpu(attribute.value)->index] = access;
  };
  switch (static_cast<Attr>(attribute.type)) {
    case Attr::kPreferredLocation: range.preferred = attribute.value; break;
    case Attr::kPrefetchLocation: range.prefetch = attribute.value; break;
    case Attr::kAccess: grant(Access::kCopy); break;
    case Attr::kAccessInPlace: grant(Access::kInPlace); break;
    case Attr::kNoAccess: grant(Access::kNone); break;
    case Attr::kSetFlags: range.flags |= attribute.value; break;
    case Attr::kClearFlags: range.flags &= ~attribute.value; break;
    case Attr::kGranularity: range.granularity = attribute.value; break;
  }
}

void SvmTable::refresh_mappings(uint64_t start, const Range& range) {
  const bool writable = (range.flags & amd::kKfdSvmFlagGpuReadOnly) == 0;
  // Without GPU_EXEC the driver maps the pages executable as well on the targets we model.
  for (Gpu* gpu : gpus_) {
    if (range.access[gpu->index] != Access::kNone)
      gpu->space.map(start, range.end - start, reinterpret_cast<std::byte*>(start), writable, true);
    else gpu->space.unmap(start, range.end - start);
  }
}

int SvmTable::set_attributes(uint64_t start, uint64_t size_bytes,
                             std::span<const amd::KfdSvmAttribute> attributes) {
  const uint64_t page_mask = sys::page_size() - 1;
  if (!enabled_) return EINVAL;
  if (size_bytes == 0 || ((start | size_bytes) & page_mask) != 0) return EINVAL;
  if (start == 0 || start > kLimit || size_bytes > kLimit - start) return EINVAL;
  const std::lock_guard lock(mutex_);
  for (const amd::KfdSvmAttribute& attribute : attributes)
    if (!is_valid(attribute)) return EINVAL;
  const uint64_t end = start + size_bytes;
  cover(start, end);
  for (auto it = ranges_.find(start); it != ranges_.end() && it->first < end; ++it) {
    for (const amd::KfdSvmAttribute& attribute : attributes) apply(it->second, attribute);
    refresh_mappings(it->first, it->second);
    publish(it->first, it->second);
  }
  range_count_.store(ranges_.size(), std::memory_order_release);
  return 0;
}

int SvmTable::get_attributes(uint64_t start, uint64_t size_bytes,
                             std::span<amd::KfdSvmAttribute> attributes) {
  if (!enabled_) return EINVAL;
  if (size_bytes == 0 || start > kLimit || size_bytes > kLimit - start) return EINVAL;
  const std::lock_guard lock(mutex_);
  const uint64_t end = start + size_bytes;

  Range defaults;
  defaults.flags = amd::kKfdSvmFlagHostAccess | amd::kKfdSvmFlagCoherent;
  defaults.access.resize(gpus_.size(), Access::kNone);
  std::vector<const Range*> ranges;
  auto it = ranges_.upper_bound(start);
  if (it != ranges_.begin() && std::prev(it)->second.end > start) --it;
  for (; it != ranges_.end() && it->first < end; ++it) ranges.push_back(&it->second);
  if (ranges.empty()) ranges.push_back(&defaults);

  for (amd::KfdSvmAttribute& attribute : attributes) {
    const auto location = [&](uint32_t Range::*field) {
      const uint32_t first = ranges.front()->*field;
      for (const Range* range : ranges)
        if (range->*field != first) return amd::kKfdSvmLocationUndefined;
      return first;
    };
    switch (static_cast<Attr>(attribute.type)) {
      case Attr::kPreferredLocation: attribute.value = location(&Range::preferred); break;
      case Attr::kPrefetchLocation: attribute.value = location(&Range::prefetch); break;
      case Attr::kAccess: {
        // Asked with a GPU's id; answered in the type.
        const Gpu* gpu = find_gpu(attribute.value);
        if (gpu == nullptr) return EINVAL;
        Access least = Access::kInPlace;
        for (const Range* range : ranges) least = std::min(least, range->access[gpu->index]);
        attribute.type = static_cast<uint32_t>(least == Access::kNone   ? Attr::kNoAccess
                                               : least == Access::kCopy ? Attr::kAccess
                                                                        : Attr::kAccessInPlace);
        break;
      }
      case Attr::kSetFlags: {
        uint32_t all = ~0u;
        for (const Range* range : ranges) all &= range->flags;
        attribute.value = all;
        break;
      }
      case Attr::kClearFlags: {
        uint32_t any = 0;
        for (const Range* range : ranges) any |= range->flags;
        attribute.value = ~any;
        break;
      }
      case Attr::kGranularity: {
        uint32_t least = kMostGranularity;
        for (const Range* range : ranges) least = std::min(least, range->granularity);
        attribute.value = least;
        break;
      }
      default: return EINVAL;
    }
  }
  return 0;
}

void SvmTable::forget(uint64_t start, uint64_t size_bytes) {
  if (size_bytes == 0 || start > ~0ull - size_bytes) return;
  const std::lock_guard lock(mutex_);
  const uint64_t end = start + size_bytes;
  split(start);
  split(end);
  for (auto it = ranges_.lower_bound(start); it != ranges_.end() && it->first < end;) {
    for (Gpu* gpu : gpus_)
      if (it->second.access[gpu->index] != Access::kNone)
        gpu->space.unmap(it->first, it->second.end - it->first);
    allocations_.remove(it->second.allocation_id);
    it = ranges_.erase(it);
  }
  range_count_.store(ranges_.size(), std::memory_order_release);
}

}  // namespace wavetap::vgpu
