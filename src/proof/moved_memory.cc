#include "proof/moved_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/random.h"

namespace wavetap::proof {
namespace {

using replay::CapturedArgument;
using replay::CapturedRegion;

constexpr uint64_t kMostBytes = uint64_t{1} << 28;

}  // namespace

Result<GpuAddr> add_anywhere(replay::CapturedMemory& memory, uint64_t size_bytes, uint64_t seed) {
  constexpr uint64_t kAlign = 1u << 21, kLowest = uint64_t{1} << 32, kLimit = uint64_t{1} << 46;
  util::Random numbers(seed);
  for (int attempt = 0; attempt < 16; ++attempt) {
    const uint64_t address = (kLowest + numbers.next() % (kLimit - kLowest)) / kAlign * kAlign;
    if (!memory.reserve({address}, size_bytes).ok()) continue;
    memory.reveal({address}, size_bytes);
    return GpuAddr{address};
  }
  return memory.add(size_bytes, /*executable=*/false);
}

bool MovedMemory::make_blocks(uint64_t seed) {
  if (is_made_) return !blocks_.empty();
  is_made_ = true;
  uint64_t bytes = 0;
  for (const CapturedArgument& argument : kernel_.arguments) {
    const CapturedRegion* const region = argument.region;
    if (region == nullptr || argument.arg.is_hidden() || !region->has_contents() ||
        region->contains(capture_.dispatch.kernarg))
      continue;
    if (std::any_of(blocks_.begin(), blocks_.end(),
                    [&](const Block& block) { return block.region == region; }))
      continue;
    bytes += region->record.size_bytes;
    if (bytes > kMostBytes) {
      blocks_.clear();
      return false;
    }
    const Result<GpuAddr> base =
        add_anywhere(memory_, region->record.size_bytes, seed + blocks_.size());
    if (!base.ok()) {
      blocks_.clear();
      return false;
    }
    blocks_.push_back({region, *base});
  }
  return !blocks_.empty();
}

bool MovedMemory::move(uint64_t seed) {
  if (!make_blocks(seed)) return false;
  for (const Block& block : blocks_) {
    const uint64_t whole = block.region->record.size_bytes;
    for (uint64_t at = 0; at < whole; at += format::kCapturePageBytes) {
      const uint64_t size = std::min<uint64_t>(format::kCapturePageBytes, whole - at);
      const std::span<const std::byte> from =
          std::as_const(memory_).bytes({block.region->begin() + at}, size);
      const std::span<std::byte> to = memory_.bytes(block.base + at, size);
      if (to.empty()) return false;
      if (from.empty()) std::memset(to.data(), 0, to.size());
      else std::memcpy(to.data(), from.data(), to.size());
    }
  }
  for (const CapturedArgument& argument : kernel_.arguments) {
    for (const Block& block : blocks_) {
      if (argument.region != block.region || argument.arg.is_hidden()) continue;
      const uint64_t pointer = block.base.value + (argument.pointer - block.region->begin());
      const std::span<std::byte> place =
          memory_.bytes({capture_.dispatch.kernarg + argument.arg.offset}, sizeof pointer);
      if (place.empty()) return false;
      std::memcpy(place.data(), &pointer, sizeof pointer);
    }
  }
  return true;
}

}  // namespace wavetap::proof
