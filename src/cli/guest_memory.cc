#include "cli/guest_memory.h"

namespace wavetap::cli {
namespace {
constexpr uint64_t kPage = 4096;
}

GpuAddr GuestMemory::allocate(uint64_t size_bytes, Access access) {
  const uint64_t begin = next_;
  Block block;
  // One page more than asked for on the host: vectorised handlers may read whole cache lines.
  block.bytes = std::make_unique<std::byte[]>(size_bytes + kPage);
  block.range = {begin, begin + size_bytes, block.bytes.get(),
                 true,  access.writable,    access.executable};
  blocks_.emplace(begin, std::move(block));
  next_ = begin + (size_bytes + kPage - 1) / kPage * kPage + kPage;
  return {begin};
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

}  // namespace wavetap::cli
