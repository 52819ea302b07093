#include "replay/captured_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/round_up.h"
#include "replay/changed_launch.h"

namespace wavetap::replay {
namespace {

using format::kCapturePageBytes;

// Pages of hosts are this large at most.
constexpr uint64_t kBlockAlign = 64 * 1024;

}  // namespace

Result<std::unique_ptr<CapturedMemory>> CapturedMemory::load(const CaptureFile& file,
                                                             const Capture& capture,
                                                             PrivatePages::Source best) {
  std::unique_ptr<CapturedMemory> memory(new CapturedMemory(file, capture));
  for (const CapturedRegion& region : capture.regions) {
    if (!region.has_contents()) continue;
    const Status mapped = memory->map_region(region);
    if (!mapped.ok()) return mapped.error();
  }
  const Status mapped = memory->map_captured(best);
  if (!mapped.ok()) return mapped.error();
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
  // A page more than the region has: vectorised handlers may read whole cache lines.
  block.host_bytes = round_up(block.range.end - block.range.begin + kCapturePageBytes, kBlockAlign);
  blocks_.push_back(block);
  return {};
}

// A block whose memory an earlier one shows at another address.
bool CapturedMemory::share(Block& block) const {
  const uint64_t alias = capture_.alias_of(*block.region);
  if (alias == 0) return false;
  const uint64_t at = alias + (block.range.begin - block.region->begin());
  const Block* owner = find(at);
  if (owner == nullptr || owner->range.host == nullptr || owner >= &block ||
      !owner->range.contains(at, block.range.end - block.range.begin))
    return false;
  block.range.host = owner->range.host + (at - owner->range.begin);
  block.is_alias = true;
  return true;
}

// All blocks in one memory file and one private mapping of it; without them, in memory of their own.
Status CapturedMemory::map_captured(PrivatePages::Source best) {
  uint64_t total = kBlockAlign;
  for (const Block& block : blocks_) total += block.host_bytes;
  map_file(total, best);
  uint64_t offset = 0;
  for (Block& block : blocks_) {
    if (share(block)) continue;
    if (own_ != nullptr) {
      block.range.host = own_ + offset;
      block.captured = captured_ + offset;
      offset += block.host_bytes;
    } else if (const Status mapped = map_alone(block); !mapped.ok()) {
      return mapped;
    }
    fill(block, own_ != nullptr ? block.captured : block.range.host);
  }
  return {};
}

void CapturedMemory::map_file(uint64_t size_bytes, PrivatePages::Source best) {
  const ScopedFd file(static_cast<int>(::memfd_create("wavetap-captured", MFD_CLOEXEC)));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0) return;
  const auto map = [&](int flags) {
    void* memory =
        ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file.get(), 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  };
  captured_ = map(MAP_SHARED);
  if (captured_ != nullptr) own_ = map(MAP_PRIVATE);
  if (own_ == nullptr && captured_ != nullptr) ::munmap(captured_, size_bytes);
  if (own_ == nullptr) captured_ = nullptr;
  captured_bytes_ = size_bytes;
  if (own_ != nullptr) written_ = PrivatePages(file.get(), best);
}

Status CapturedMemory::map_alone(Block& block) const {
  void* host = ::mmap(nullptr, block.host_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED)
    return errorf("%s: %llu bytes of memory at 0x%llx cannot be had: %s", file_.name().c_str(),
                  static_cast<unsigned long long>(block.range.end - block.range.begin),
                  static_cast<unsigned long long>(block.range.begin), std::strerror(errno));
  block.range.host = static_cast<std::byte*>(host);
  return {};
}

// A block consists of whole runs, and what lies between them.
void CapturedMemory::fill(const Block& block, std::byte* host) {
  const PageRunList& runs = block.region->before;
  auto run = std::lower_bound(
      runs.begin(), runs.end(), block.first_page,
      [](const format::CapturePageRun& a, uint32_t page) { return a.first_page < page; });
  for (; run != runs.end() && run->first_page - block.first_page < block.page_count; ++run) {
    for (uint32_t i = 0; i < run->count && run->id != 0; ++i) {
      const uint64_t at = (uint64_t{run->first_page} - block.first_page + i) * kCapturePageBytes;
      std::memcpy(host + at, file_.page(run->id + i), kCapturePageBytes);
    }
  }
}

void CapturedMemory::restore_wave_sync() {
  for (std::atomic<uint64_t>& resource : wave_sync.resource)
    resource.store(0, std::memory_order_relaxed);
  for (const auto& [number, value] : captured_wave_sync(capture_))
    wave_sync.resource[number].store(value, std::memory_order_relaxed);
}

CapturedMemory::~CapturedMemory() {
  for (const Block& block : blocks_) {
    const bool is_alone = own_ == nullptr || block.region == nullptr;
    if (block.range.host != nullptr && is_alone && !block.is_alias)
      ::munmap(block.range.host, block.host_bytes);
  }
  if (own_ != nullptr) ::munmap(own_, captured_bytes_);
  if (captured_ != nullptr) ::munmap(captured_, captured_bytes_);
}

Status CapturedMemory::map(Block block) {
  block.host_bytes = round_up(block.range.end - block.range.begin + kCapturePageBytes, kBlockAlign);
  if (const Status mapped = map_alone(block); !mapped.ok()) return mapped;
  const auto place = std::upper_bound(
      blocks_.begin(), blocks_.end(), block.range.begin,
      [](uint64_t address, const Block& other) { return address < other.range.begin; });
  blocks_.insert(place, block);
  return {};
}

void CapturedMemory::restore() {
  restore_wave_sync();
  if (own_ != nullptr && written_.find(own_, captured_bytes_, ranges_)) {
    for (const PrivatePages::Range& range : ranges_)
      std::memcpy(own_ + range.offset, captured_ + range.offset,
                  std::min(range.size_bytes, captured_bytes_ - range.offset));
    return;
  }
  for (const Block& block : blocks_)
    if (block.region != nullptr && block.range.writable && !block.is_alias)
      restore_differing(block);
}

std::vector<bool> CapturedMemory::written_pages(const CapturedRegion& region) const {
  std::vector<bool> written(region.page_count(), true);
  for (const Block& block : blocks_) {
    if (block.region != &region) continue;
    // The blocks of aliases begin anywhere in a page of the host.
    const uint64_t before =
        reinterpret_cast<uint64_t>(block.range.host) % PrivatePages::page_bytes();
    const uint64_t size = block.range.end - block.range.begin;
    if (!written_.find(block.range.host - before, before + size, ranges_)) continue;
    std::fill_n(written.begin() + block.first_page, block.page_count, false);
    for (const PrivatePages::Range& range : ranges_) {
      const uint64_t end = std::min(range.offset + range.size_bytes, before + size);
      uint64_t at = std::max(range.offset, before);
      for (; at < end; at += kCapturePageBytes)
        written[block.first_page + (at - before) / kCapturePageBytes] = true;
    }
  }
  return written;
}

void CapturedMemory::restore_differing(const Block& block) {
  for (uint32_t i = 0; i < block.page_count; ++i) {
    std::byte* now = block.range.host + uint64_t{i} * kCapturePageBytes;
    const std::byte* before = file_.page(page_id(block.region->before, block.first_page + i));
    if (std::memcmp(now, before, kCapturePageBytes) != 0)
      std::memcpy(now, before, kCapturePageBytes);
  }
}

Status CapturedMemory::reserve(GpuAddr address, uint64_t size_bytes) {
  Block block;
  block.range = {address.value, address.value + size_bytes, nullptr, true, true, false};
  block.shown = std::make_shared<std::atomic<uint64_t>>(0);
  for (const Block& other : blocks_)
    if (other.range.begin < block.range.end && block.range.begin < other.range.end)
      return errorf("%s: memory at 0x%llx is there already", file_.name().c_str(),
                    static_cast<unsigned long long>(address.value));
  return map(block);
}

const CapturedMemory::Block* CapturedMemory::find_reserved(uint64_t address) const {
  for (const Block& block : blocks_)
    if (block.range.begin == address && block.shown != nullptr) return &block;
  return nullptr;
}

void CapturedMemory::reveal(GpuAddr reserved, uint64_t shown_bytes) {
  if (const Block* block = find_reserved(reserved.value))
    block->shown->store(std::min(shown_bytes, block->range.end - block->range.begin),
                        std::memory_order_release);
}

void CapturedMemory::hide(GpuAddr reserved) {
  const Block* block = find_reserved(reserved.value);
  if (block == nullptr || block->shown->exchange(0) == 0) return;
  ::madvise(block->range.host, block->host_bytes, MADV_DONTNEED);
  epoch_.fetch_add(1, std::memory_order_release);
}

Result<GpuAddr> CapturedMemory::add(uint64_t size_bytes, bool executable) {
  // Near the rest, so that code reaches what it reached: behind the last block below 2^47, with a gap.
  constexpr uint64_t kGap = 1u << 21;
  constexpr uint64_t kLimit = uint64_t{1} << 47;
  uint64_t begin = uint64_t{1} << 32;
  uint64_t codes = 0;
  for (const Block& block : blocks_) {
    if (block.range.end < kLimit) begin = std::max(begin, round_up(block.range.end + kGap, kGap));
    codes += block.region == nullptr && block.range.executable ? 1 : 0;
  }
  // Code that is loaded again lies somewhere else entirely: what it does must not depend on that.
  if (executable && codes != 0) {
    const uint64_t elsewhere = codes * 0x9e3779b97f4a7c15 % kLimit / kGap * kGap;
    const bool is_free = std::none_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
      return block.range.begin < elsewhere + size_bytes + kGap &&
             elsewhere < block.range.end + kGap;
    });
    if (is_free && elsewhere >= uint64_t{1} << 32 && elsewhere + size_bytes < kLimit)
      begin = elsewhere;
  }
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
  return address < block.end() ? &block : nullptr;
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
  if (block == nullptr) return {};
  emu::MappedRange range = block->range;
  range.end = block->end();
  return range;
}

}  // namespace wavetap::replay
