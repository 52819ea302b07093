#include "replay/touched_memory.h"

#include <algorithm>
#include <bit>
#include <map>

#include "codeobj/image.h"
#include "replay/kernarg_size.h"
#include "replay/record_packer.h"

namespace wavetap::replay {
namespace {

using format::CaptureTouchedPage;
using format::kCapturePageBytes;

// Of amd_queue_t: the part that kernels read.
constexpr uint64_t kQueueStructBytes = 256;
constexpr uint64_t kPacketBytes = 64;
constexpr uint64_t kDescriptorBytes = 64;

template <class Bits>
void set_bits(Bits& bits, uint64_t begin, uint64_t end) {
  while (begin < end) {
    const uint64_t word = begin / 64;
    const uint64_t upto = std::min(end, (word + 1) * 64);
    const uint64_t count = upto - begin;
    const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << (begin % 64);
    if ((bits[word].load(std::memory_order_relaxed) & mask) != mask)
      bits[word].fetch_or(mask, std::memory_order_relaxed);
    begin = upto;
  }
}

uint64_t count_bits(std::span<const uint64_t> words) {
  uint64_t count = 0;
  for (const uint64_t word : words) count += static_cast<uint64_t>(std::popcount(word));
  return count;
}

}  // namespace

TouchedMemory::Page& TouchedMemory::page(uint64_t number) {
  Shard& shard = shards_[number % shards_.size()];
  const std::lock_guard lock(shard.mutex);
  std::unique_ptr<Page>& page = shard.pages[number];
  if (page == nullptr) page = std::make_unique<Page>();
  return *page;
}

emu::Wants TouchedMemory::wants(const isa::Program& program, int32_t index) noexcept {
  const uint64_t begin = program.pc_of(index).value;
  note(begin, program.pc_of(index + 1).value - begin, true, false);
  return {.accessing = true};
}

void TouchedMemory::accessing(const emu::WatchPoint& /*at*/,
                              std::span<const emu::MemoryAccess> accesses) noexcept {
  for (const emu::MemoryAccess& access : accesses) {
    if (access.space != emu::Space::kGlobal) continue;
    for (uint64_t lanes = access.mask; lanes != 0; lanes &= lanes - 1) {
      const uint64_t address = access.address[std::countr_zero(lanes)];
      note(address, access.size_bytes, access.reads(), access.writes());
    }
  }
}

void TouchedMemory::note(uint64_t address, uint64_t size_bytes, bool is_read, bool is_write) {
  while (size_bytes > 0) {
    const uint64_t inside = address % kCapturePageBytes;
    const uint64_t part = std::min(size_bytes, kCapturePageBytes - inside);
    Page& touched = page(address / kCapturePageBytes);
    if (is_read) set_bits(touched.read, inside, inside + part);
    if (is_write) set_bits(touched.written, inside, inside + part);
    address += part;
    size_bytes -= part;
  }
}

void TouchedMemory::keep_captured(const Capture& capture) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    std::erase_if(shard.pages, [&](const auto& page) {
      return capture.region_at(page.first * kCapturePageBytes) == nullptr;
    });
  }
}

std::vector<CaptureTouchedPage> TouchedMemory::pages() const {
  std::vector<CaptureTouchedPage> pages;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [number, page] : shard.pages) {
      CaptureTouchedPage& made = pages.emplace_back();
      made.address = number * kCapturePageBytes;
      for (size_t i = 0; i < page->read.size(); ++i) {
        made.read[i] = page->read[i].load(std::memory_order_relaxed);
        made.written[i] = page->written[i].load(std::memory_order_relaxed);
      }
    }
  }
  std::sort(pages.begin(), pages.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  return pages;
}

ReplayResult find_touched(const Capture& capture, const CapturedKernel& kernel,
                          CapturedMemory& memory, ReplayOptions options, TouchedMemory& touched) {
  emu::Watcher* const watchers[] = {&touched};
  options.iterations = 1;
  options.watchers = watchers;
  ReplayResult result = run_replay(capture, kernel, memory, options);
  const format::CaptureDispatch& dispatch = capture.dispatch;
  touched.note(dispatch.kernel_object, kDescriptorBytes, true, false);
  touched.note(dispatch.packet_address, kPacketBytes, true, false);
  touched.note(dispatch.queue_address, kQueueStructBytes, true, false);
  touched.note(dispatch.kernarg, kernarg_bytes_of(kernel), true, false);
  touched.keep_captured(capture);
  return result;
}

std::vector<CaptureTouchedPage> with_aliases(const Capture& capture,
                                             std::vector<CaptureTouchedPage> pages) {
  std::map<uint64_t, CaptureTouchedPage> all;
  const auto add = [&](CaptureTouchedPage page, uint64_t address) {
    page.address = address;
    const auto [known, is_new] = all.emplace(address, page);
    for (size_t i = 0; i < std::size(page.read) && !is_new; ++i) {
      known->second.read[i] |= page.read[i];
      known->second.written[i] |= page.written[i];
    }
  };
  bool has_aliases = false;
  for (const CaptureTouchedPage& page : pages) add(page, page.address);
  for (const CapturedRegion& region : capture.regions) {
    const uint64_t alias = capture.alias_of(region);
    if (alias == 0) continue;
    has_aliases = true;
    for (const CaptureTouchedPage& page : pages) {
      if (region.contains(page.address)) add(page, page.address - region.begin() + alias);
      if (page.address - alias < region.record.size_bytes)
        add(page, page.address - alias + region.begin());
    }
  }
  if (!has_aliases) return pages;
  pages.clear();
  for (const auto& [address, page] : all) pages.push_back(page);
  return pages;
}

uint64_t read_bytes(std::span<const CaptureTouchedPage> pages) {
  uint64_t bytes = 0;
  for (const CaptureTouchedPage& page : pages) bytes += count_bits(page.read);
  return bytes;
}

uint64_t written_bytes(std::span<const CaptureTouchedPage> pages) {
  uint64_t bytes = 0;
  for (const CaptureTouchedPage& page : pages) bytes += count_bits(page.written);
  return bytes;
}

uint64_t packed_read_bytes(const CaptureFile& file, const Capture& capture) {
  constexpr size_t kPiece = 4u << 20;
  uint64_t packed = 0;
  std::vector<std::byte> read;
  const auto pack = [&] {
    packed += read.size() - saved_by_packing(read);
    read.clear();
  };
  for (const CaptureTouchedPage& page : capture.touched) {
    const std::vector<std::byte> bytes =
        captured_bytes(file, capture, State::kBefore, page.address, kCapturePageBytes);
    for (uint64_t i = 0; i < kCapturePageBytes; ++i)
      if (has_bit(page.read, i)) read.push_back(bytes[i]);
    if (read.size() >= kPiece) pack();
  }
  pack();
  return packed;
}

}  // namespace wavetap::replay
