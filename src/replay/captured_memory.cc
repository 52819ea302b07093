#include "replay/captured_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace wavetap::replay {
namespace {

using format::kCapturePageBytes;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Result<std::unique_ptr<CapturedMemory>> CapturedMemory::load(const CaptureFile& file,
                                                             const Capture& capture) {
  std::unique_ptr<CapturedMemory> memory(new CapturedMemory(file, capture));
  for (const CapturedRegion& region : capture.regions) {
    if (!region.has_contents()) continue;
    const Status mapped = memory->map_region(region);
    if (!mapped.ok()) return mapped.error();
  }
  for (const Block& block : memory->blocks_) memory->fill(block);
  memory->restore_wave_sync();
  return memory;
}

// Whole, or where only touched pages were kept, those: what is not known must not be read as zeros.
Status CapturedMemory::map_region(const CapturedRegion& region) {
  if (!capture_.is_only_touched()) return map_pages(region, 0, region.page_count());
  uint32_t first = 0;
  uint32_t count = 0;
  Status status;
  for (const format::CapturePageRun& run : region.before) {
    if (count > 0 && first + count != run.first_page) {
      status = map_pages(region, first, count);
      if (!status.ok()) return status;
      count = 0;
    }
    if (count == 0) first = run.first_page;
    count += run.count;
  }
  return count > 0 ? map_pages(region, first, count) : status;
}

Status CapturedMemory::map_pages(const CapturedRegion& region, uint32_t first_page,
                                 uint32_t page_count) {
  Block block;
  block.region = &region;
  block.first_page = first_page;
  block.page_count = page_count;
  const uint64_t begin = region.begin() + uint64_t{first_page} * kCapturePageBytes;
  block.range = {begin,
                 std::min(region.end(), begin + uint64_t{page_count} * kCapturePageBytes),
                 nullptr,
                 (region.record.rights & format::kCaptureReadable) != 0,
                 (region.record.rights & format::kCaptureWritable) != 0,
                 (region.record.rights & format::kCaptureExecutable) != 0};
  return map(block);
}

// A block consists of whole runs, and what lies between them.
void CapturedMemory::fill(const Block& block) {
  const PageRunList& runs = block.region->before;
  auto run = std::lower_bound(
      runs.begin(), runs.end(), block.first_page,
      [](const format::CapturePageRun& a, uint32_t page) { return a.first_page < page; });
  for (; run != runs.end() && run->first_page - block.first_page < block.page_count; ++run) {
    for (uint32_t i = 0; i < run->count && run->id != 0; ++i) {
      const uint64_t at = (uint64_t{run->first_page} - block.first_page + i) * kCapturePageBytes;
      std::memcpy(block.range.host + at, file_.page(run->id + i), kCapturePageBytes);
    }
  }
}

void CapturedMemory::restore_wave_sync() {
  for (uint32_t i = 0; i < emu::WaveSync::kResources; ++i) {
    const auto found = capture_.facts.find("wave_sync." + std::to_string(i));
    const uint64_t value =
        found == capture_.facts.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
    wave_sync.resource[i].store(value, std::memory_order_relaxed);
  }
}

CapturedMemory::~CapturedMemory() {
  for (const Block& block : blocks_) ::munmap(block.range.host, block.host_bytes);
}

Status CapturedMemory::map(Block block) {
  const uint64_t size = block.range.end - block.range.begin;
  // A page more than the region has: vectorised handlers may read whole cache lines.
  block.host_bytes = round_up(size, kCapturePageBytes) + kCapturePageBytes;
  void* host = ::mmap(nullptr, block.host_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED) {
    return errorf("%s: %llu bytes of memory at 0x%llx cannot be had: %s", file_.name().c_str(),
                  static_cast<unsigned long long>(size),
                  static_cast<unsigned long long>(block.range.begin), std::strerror(errno));
  }
  block.range.host = static_cast<std::byte*>(host);
  const auto place = std::upper_bound(
      blocks_.begin(), blocks_.end(), block.range.begin,
      [](uint64_t address, const Block& other) { return address < other.range.begin; });
  blocks_.insert(place, block);
  return {};
}

void CapturedMemory::restore() {
  restore_wave_sync();
  for (const Block& block : blocks_) {
    if (block.region == nullptr || !block.range.writable) continue;
    for (uint32_t i = 0; i < block.page_count; ++i) {
      std::byte* now = block.range.host + uint64_t{i} * kCapturePageBytes;
      const std::byte* before = file_.page(page_id(block.region->before, block.first_page + i));
      if (std::memcmp(now, before, kCapturePageBytes) != 0)
        std::memcpy(now, before, kCapturePageBytes);
    }
  }
}

Result<GpuAddr> CapturedMemory::add(uint64_t size_bytes, bool executable) {
  // Near the rest, so that code reaches what it reached: behind the last block below 2^47, with a gap.
  constexpr uint64_t kGap = 1u << 21;
  constexpr uint64_t kLimit = uint64_t{1} << 47;
  uint64_t begin = uint64_t{1} << 32;
  for (const Block& block : blocks_)
    if (block.range.end < kLimit) begin = std::max(begin, round_up(block.range.end + kGap, kGap));
  Block block;
  block.range = {begin, begin + size_bytes, nullptr, true, true, executable};
  const Status mapped = map(block);
  if (!mapped.ok()) return mapped.error();
  return GpuAddr{begin};
}

const CapturedMemory::Block* CapturedMemory::find(uint64_t address) const {
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), address,
      [](uint64_t wanted, const Block& block) { return wanted < block.range.begin; });
  if (after == blocks_.begin()) return nullptr;
  const Block& block = *std::prev(after);
  return block.range.contains(address, 1) ? &block : nullptr;
}

std::span<const std::byte> CapturedMemory::bytes(GpuAddr address, uint64_t size_bytes) const {
  const Block* block = find(address.value);
  if (block == nullptr || !block->range.contains(address.value, size_bytes)) return {};
  return {block->range.host + (address.value - block->range.begin), size_bytes};
}

std::span<std::byte> CapturedMemory::bytes(GpuAddr address, uint64_t size_bytes) {
  const std::span<const std::byte> view =
      static_cast<const CapturedMemory*>(this)->bytes(address, size_bytes);
  return {const_cast<std::byte*>(view.data()), view.size()};
}

emu::MappedRange CapturedMemory::lookup(GpuAddr address) noexcept {
  const Block* block = find(address.value);
  return block == nullptr ? emu::MappedRange{} : block->range;
}

}  // namespace wavetap::replay
