#include "vgpu/queue_memory.h"

#include <algorithm>
#include <cstring>

#if defined(WT_SANITIZE_ADDRESS)
#include <sanitizer/asan_interface.h>
#endif

namespace wavetap::vgpu {
namespace {

// Between two looks at the stop flag: some tens of microseconds of copying.
constexpr uint64_t kCopyChunkBytes = 256 * 1024;

// memmove() between memory of the GPU and `ours`, or memory of the GPU. The GPU sees whole pages, of which
// an object on the program's heap may be a part: what lies beside it there may be read and written, which
// AddressSanitizer's memmove() takes for an overflow. It still has to look at `ours`.
#if defined(WT_SANITIZE_ADDRESS)
__attribute__((no_sanitize("address"))) void move_bytes(std::byte* to, const std::byte* from,
                                                        uint64_t size_bytes,
                                                        const std::byte* ours = nullptr) {
  if (ours != nullptr &&
      __asan_region_is_poisoned(const_cast<std::byte*>(ours), size_bytes) != nullptr) {
    std::memmove(to, from, size_bytes);  // tells of it
    return;
  }
  const auto move = [=]<class Unit>(Unit) __attribute__((no_sanitize("address"))) {
    // Volatile: no call of memmove() is made of the loop.
    auto* const target = reinterpret_cast<volatile Unit*>(to);
    const auto* const source = reinterpret_cast<const volatile Unit*>(from);
    const uint64_t count = size_bytes / sizeof(Unit);
    const bool is_upwards = to <= from;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = is_upwards ? i : count - 1 - i;
      target[at] = source[at];
    }
  };
  const uint64_t places =
      reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | size_bytes;
  if (places % sizeof(uint64_t) == 0) move(uint64_t{});
  else move(uint8_t{});
}
#else
void move_bytes(std::byte* to, const std::byte* from, uint64_t size_bytes,
                const std::byte* = nullptr) {
  std::memmove(to, from, size_bytes);
}
#endif

}  // namespace

std::byte* GuestMemory::translate(GpuAddr address, bool is_write, uint64_t* available_bytes) {
  const uint64_t epoch = space_.epoch();
  if (epoch != epoch_) {
    for (emu::MappedRange& range : cached_) range = {};
    epoch_ = epoch;
  }
  const emu::MappedRange* found = nullptr;
  for (const emu::MappedRange& range : cached_) {
    if (range.contains(address.value, 1)) {
      found = &range;
      break;
    }
  }
  if (found == nullptr) {
    const emu::MappedRange range = space_.lookup(address);
    if (!range.contains(address.value, 1)) {
      fault_ = {AccessError::kNotMapped, address, is_write};
      return nullptr;
    }
    cached_[next_slot_] = range;
    found = &cached_[next_slot_];
    next_slot_ = (next_slot_ + 1) % kCachedRanges;
  }
  if (is_write ? !found->writable : !found->readable) {
    fault_ = {is_write ? AccessError::kReadOnly : AccessError::kNotMapped, address, is_write};
    return nullptr;
  }
  *available_bytes = found->end - address.value;
  return found->host + (address.value - found->begin);
}

void GuestMemory::note_host_fault(GpuAddr address, const std::byte* host, uint64_t size_bytes,
                                  uint64_t host_fault, bool is_write) {
  const uint64_t offset = host_fault - reinterpret_cast<uintptr_t>(host);
  // SIGBUS of some kernels reports the page, not the byte.
  fault_ = {AccessError::kNotMapped, offset < size_bytes ? address + offset : address, is_write};
}

bool GuestMemory::read(GpuAddr address, void* bytes, uint64_t size_bytes) {
  auto* to = static_cast<std::byte*>(bytes);
  while (size_bytes > 0) {
    uint64_t available = 0;
    const std::byte* host = translate(address, /*is_write=*/false, &available);
    if (host == nullptr) return false;
    const uint64_t part = std::min(available, size_bytes);
    uint64_t host_fault = 0;
    if (!guarded([=] { move_bytes(to, host, part, to); }, &host_fault)) {
      note_host_fault(address, host, part, host_fault, /*is_write=*/false);
      return false;
    }
    to += part;
    address = address + part;
    size_bytes -= part;
  }
  return true;
}

bool GuestMemory::write(GpuAddr address, const void* bytes, uint64_t size_bytes) {
  const auto* from = static_cast<const std::byte*>(bytes);
  while (size_bytes > 0) {
    uint64_t available = 0;
    std::byte* host = translate(address, /*is_write=*/true, &available);
    if (host == nullptr) return false;
    const uint64_t part = std::min(available, size_bytes);
    uint64_t host_fault = 0;
    if (!guarded([=] { move_bytes(host, from, part, from); }, &host_fault)) {
      note_host_fault(address, host, part, host_fault, /*is_write=*/true);
      return false;
    }
    if (WriteObserver* observer = space_.write_observer()) observer->wrote(address, part);
    from += part;
    address = address + part;
    size_bytes -= part;
  }
  return true;
}

bool GuestMemory::copy(GpuAddr to, GpuAddr from, uint64_t size_bytes,
                       const std::atomic<bool>& stop) {
  while (size_bytes > 0 && !stop.load(std::memory_order_relaxed)) {
    uint64_t from_available = 0;
    uint64_t to_available = 0;
    const std::byte* source = translate(from, /*is_write=*/false, &from_available);
    if (source == nullptr) return false;
    std::byte* target = translate(to, /*is_write=*/true, &to_available);
    if (target == nullptr) return false;
    const uint64_t part = std::min({from_available, to_available, size_bytes, kCopyChunkBytes});
    uint64_t host_fault = 0;
    // One chunk may overlap itself when a program shifts a buffer in place.
    if (!guarded([=] { move_bytes(target, source, part); }, &host_fault)) {
      const uint64_t source_begin = reinterpret_cast<uintptr_t>(source);
      const bool reading = host_fault >= source_begin && host_fault - source_begin < part;
      if (reading) {
        note_host_fault(from, source, part, host_fault, /*is_write=*/false);
      } else {
        note_host_fault(to, target, part, host_fault, /*is_write=*/true);
      }
      return false;
    }
    if (WriteObserver* observer = space_.write_observer()) observer->copied(to, from, part);
    to = to + part;
    from = from + part;
    size_bytes -= part;
  }
  return true;
}

bool GuestMemory::fill(GpuAddr to, uint32_t pattern, uint32_t element_bytes, uint64_t size_bytes,
                       const std::atomic<bool>& stop) {
  // A multiple of every element size, so each part starts on a whole pattern relative to `to`.
  constexpr uint64_t kPatternBytes = 4096;
  std::byte repeated[kPatternBytes];
  for (uint64_t i = 0; i < kPatternBytes; i += element_bytes) {
    std::memcpy(repeated + i, &pattern, element_bytes);
  }
  size_bytes -= size_bytes % element_bytes;
  while (size_bytes > 0 && !stop.load(std::memory_order_relaxed)) {
    const uint64_t part = std::min(size_bytes, kPatternBytes);
    if (!write(to, repeated, part)) return false;
    to = to + part;
    size_bytes -= part;
  }
  return true;
}

}  // namespace wavetap::vgpu
