#include "replay/relocation.h"

#include <algorithm>
#include <cstring>

#include "replay/touched_memory.h"

namespace wavetap::replay {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);

bool is_read(const std::vector<format::CaptureTouchedPage>& touched, uint64_t address) {
  const uint64_t page = address / format::kCapturePageBytes * format::kCapturePageBytes;
  const auto found = std::lower_bound(
      touched.begin(), touched.end(), page,
      [](const format::CaptureTouchedPage& one, uint64_t wanted) { return one.address < wanted; });
  if (found == touched.end() || found->address != page) return false;
  for (uint64_t i = 0; i < kWord; ++i)
    if (!has_bit(found->read, address - page + i)) return false;
  return true;
}

// Calls visit(address, place) for the aligned words.
template <class Visit>
void for_each_word(uint64_t address, std::span<std::byte> bytes, Visit visit) {
  const uint64_t first = (address + kWord - 1) / kWord * kWord - address;
  for (uint64_t at = first; at + kWord <= bytes.size(); at += kWord)
    visit(address + at, bytes.data() + at);
}

}  // namespace

void Relocation::move(const CapturedRegion& region, uint64_t from, uint64_t size_bytes,
                      uint64_t to) {
  moved_.push_back({region.begin(), region.end(), from, from + size_bytes, to - from});
}

uint64_t Relocation::to_new(uint64_t address) const {
  for (const Moved& moved : moved_)
    if (address >= moved.begin && address < moved.end) return address + moved.delta;
  // The end of an array, unless something else begins there that stayed where it was.
  for (const Moved& moved : moved_)
    if (address == moved.end) return address + moved.delta;
  return address;
}

uint64_t Relocation::change(uint64_t address, std::span<std::byte> bytes,
                            const std::vector<format::CaptureTouchedPage>* touched) const {
  uint64_t changed = 0;
  if (empty()) return 0;
  for_each_word(address, bytes, [&](uint64_t at, std::byte* place) {
    uint64_t value = 0;
    std::memcpy(&value, place, kWord);
    const uint64_t now = to_new(value);
    if (now == value || (touched != nullptr && !is_read(*touched, at))) return;
    std::memcpy(place, &now, kWord);
    ++changed;
  });
  return changed;
}

void Relocation::change_back(uint64_t address, std::span<std::byte> bytes) const {
  if (empty()) return;
  for_each_word(address, bytes, [&](uint64_t, std::byte* place) {
    uint64_t value = 0;
    std::memcpy(&value, place, kWord);
    // Memory that is there first: the rest of a region may seem to lie on another's.
    const auto is_there = [&](const Moved& moved) {
      return value - moved.delta >= moved.part_begin && value - moved.delta < moved.part_end;
    };
    const auto may_be = [&](const Moved& moved) {
      return value - moved.delta >= moved.begin && value - moved.delta <= moved.end;
    };
    auto found = std::find_if(moved_.begin(), moved_.end(), is_there);
    if (found == moved_.end()) found = std::find_if(moved_.begin(), moved_.end(), may_be);
    if (found == moved_.end()) return;
    const uint64_t then = value - found->delta;
    std::memcpy(place, &then, kWord);
  });
}

}  // namespace wavetap::replay
