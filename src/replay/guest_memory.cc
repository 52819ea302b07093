#include "replay/guest_memory.h"

#include <algorithm>

#include "emu/wave.h"

namespace wavetap::replay {
namespace {

constexpr uint64_t kGuestPage = 4096;

uint64_t page_end(uint64_t address) { return (address + kGuestPage - 1) / kGuestPage * kGuestPage; }

// Flat addresses of LDS and scratch never reach memory.
bool is_in_aperture(uint64_t begin, uint64_t last) {
  constexpr uint64_t kApertureBytes = uint64_t{1} << 32;
  return std::ranges::any_of(
      std::initializer_list<uint64_t>{emu::kSharedAperture, emu::kPrivateAperture},
      [&](uint64_t aperture) { return begin < aperture + kApertureBytes && last >= aperture; });
}

}  // namespace

bool GuestMemory::is_free(uint64_t begin, uint64_t end, uint64_t* after) const {
  auto next = blocks_.lower_bound(end);
  if (next == blocks_.begin()) return true;
  *after = std::prev(next)->second.range.end;
  return *after <= begin;
}

void GuestMemory::insert(uint64_t begin, uint64_t size_bytes, Access access) {
  Block block;
  // One page more than asked for on the host: vectorised handlers may read whole cache lines.
  block.bytes = std::make_unique<std::byte[]>(size_bytes + kGuestPage);
  block.range = {.begin = begin,
                 .end = begin + size_bytes,
                 .host = block.bytes.get(),
                 .readable = true,
                 .writable = access.writable,
                 .executable = access.executable};
  blocks_.emplace(begin, std::move(block));
}

GpuAddr GuestMemory::allocate(uint64_t size_bytes, Access access) {
  uint64_t begin = next_, after = 0;
  while (!is_free(begin - kGuestPage, page_end(begin + size_bytes) + kGuestPage, &after))
    begin = page_end(after) + kGuestPage;
  insert(begin, size_bytes, access);
  next_ = page_end(begin + size_bytes) + kGuestPage;
  return {begin};
}

Status GuestMemory::allocate_at(GpuAddr address, uint64_t size_bytes, Access access) {
  const uint64_t begin = address.value, end = begin + size_bytes;
  const auto refuse = [&](const char* why) {
    return errorf("guest memory 0x%llx: %llu bytes cannot be there, %s; choose another address",
                  static_cast<unsigned long long>(begin),
                  static_cast<unsigned long long>(size_bytes), why);
  };
  if (end <= begin) return refuse("the range is empty or wraps around");
  if (is_in_aperture(begin, end - 1)) return refuse("LDS and scratch have this address");
  uint64_t after = 0;
  if (!is_free(begin, end, &after)) return refuse("another allocation is");
  insert(begin, size_bytes, access);
  return {};
}

std::span<std::byte> GuestMemory::bytes(GpuAddr address, uint64_t size_bytes) {
  const emu::MappedRange range = lookup(address);
  if (!range.contains(address.value, size_bytes)) return {};
  return {range.host + (address.value - range.begin), size_bytes};
}

emu::MappedRange GuestMemory::lookup(GpuAddr address) noexcept {
  auto next = blocks_.upper_bound(address.value);
  if (next == blocks_.begin()) return {};
  const emu::MappedRange& range = std::prev(next)->second.range;
  return range.contains(address.value, 1) ? range : emu::MappedRange{};
}

}  // namespace wavetap::replay
