#include "replay/rocm_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "amd/aql.h"
#include "replay/guest_memory.h"
#include "replay/steered_mmap.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace wavetap::replay {
namespace {

using format::CaptureTouchedPage;
using format::kCapturePageBytes;

// Bits of the thunk's HsaMemFlags.
constexpr uint32_t kNonPaged = 1 << 0;
constexpr uint32_t kHostAccess = 1 << 6;
constexpr uint32_t kExecuteAccess = 1 << 12;
constexpr uint32_t kCoarseGrain = 1 << 13;
constexpr uint32_t kFixedAddress = 1 << 15;

constexpr uint32_t kReadWrite = 3;  // hsa_access_permission_t

bool is_vram(const AddressRange& range) {
  return range.region == nullptr || range.region->record.kind == format::CaptureMemoryKind::kVram;
}

bool is_fine(const AddressRange& range) {
  return range.region != nullptr && (range.region->record.flags & format::kCaptureFineGrained) != 0;
}

}  // namespace

std::vector<AddressRange> needed_ranges(const Capture& capture, uint64_t kernarg_bytes,
                                        const std::vector<CaptureTouchedPage>& touched) {
  const format::CaptureDispatch& d = capture.dispatch;
  const AddressRange elsewhere[] = {
      {d.kernarg, d.kernarg + kernarg_bytes, nullptr},
      {d.packet_address, d.packet_address + sizeof(amd::KernelDispatchPacket), nullptr},
      {d.queue_address, d.queue_address + kQueueBytes, nullptr}};
  const auto is_needed = [&](const CaptureTouchedPage& page) {
    for (uint64_t i = 0; i < kCapturePageBytes; ++i) {
      if (((page.read[i / 64] | page.written[i / 64]) >> (i % 64) & 1) == 0) continue;
      const uint64_t at = page.address + i;
      if (std::none_of(std::begin(elsewhere), std::end(elsewhere), [&](const AddressRange& range) {
            return at >= range.begin && at < range.end;
          }))
        return true;
    }
    return false;
  };
  std::vector<AddressRange> ranges;
  for (const CaptureTouchedPage& page : touched) {
    const CapturedRegion* region = capture.region_at(page.address);
    if (region == nullptr || !region->has_contents() || !is_needed(page)) continue;
    const uint64_t end = page.address + kCapturePageBytes;
    if (!ranges.empty() && ranges.back().region == region) ranges.back().end = end;
    else ranges.push_back({page.address, end, region});
  }
  return ranges;
}

std::vector<AddressRange> pieces_to_place(std::vector<AddressRange> ranges) {
  // The thunk keeps a page or more free behind each allocation.
  constexpr uint64_t kGap = 16 * kCapturePageBytes;
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  std::vector<AddressRange> pieces;
  for (const AddressRange& range : ranges) {
    const bool joins = !pieces.empty() && range.begin <= pieces.back().end + kGap &&
                       is_vram(range) == is_vram(pieces.back()) &&
                       is_fine(range) == is_fine(pieces.back());
    if (joins) pieces.back().end = std::max(pieces.back().end, range.end);
    else pieces.push_back(range);
  }
  return pieces;
}

HeldRanges::~HeldRanges() { release_all(); }

void HeldRanges::release_all() {
  for (const auto& [begin, size] : held_) ::munmap(reinterpret_cast<void*>(begin), size);
  held_.clear();
}

void HeldRanges::hold(const std::vector<AddressRange>& ranges) {
  for (const AddressRange& range : ranges) {
    const void* wanted = reinterpret_cast<void*>(range.begin);
    void* got = ::mmap(reinterpret_cast<void*>(range.begin), range.size(), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) continue;
    if (got == wanted) held_.emplace_back(range.begin, range.size());
    else ::munmap(got, range.size());  // a kernel without MAP_FIXED_NOREPLACE
  }
}

void HeldRanges::release(const AddressRange& range) {
  std::erase_if(held_, [&](const auto& held) {
    if (held.first != range.begin) return false;
    ::munmap(reinterpret_cast<void*>(held.first), held.second);
    return true;
  });
}

std::string holder_of(const AddressRange& range, bool with_reserved) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0;
    uint64_t end = 0;
    int name_at = 0;
    char rights[8] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &begin, &end,
                    rights, &name_at) < 3 ||
        begin >= range.end || end <= range.begin)
      continue;
    if (!with_reserved && std::string_view(rights) == "---p") continue;
    const std::string name = name_at > 0 && static_cast<size_t>(name_at) < line.size()
                                 ? line.substr(static_cast<size_t>(name_at))
                                 : "";
    return line.substr(0, line.find(' ')) + " " +
           (name.empty() ? "(no file; memory of this process or a range of the runtime)" : name);
  }
  return "";
}

const char* RocmMemory::method() const {
  return api_.kmt_allocate != nullptr && api_.kmt_map != nullptr ? "thunk" : "vmem";
}

bool RocmMemory::allocate_by_thunk(const AddressRange& range, uint32_t flags) const {
  void* memory = reinterpret_cast<void*>(range.begin);
  const uint32_t node = is_vram(range) ? gpu_node_ : 0;
  if (api_.kmt_allocate(node, range.size(), flags, &memory) != 0) return false;
  uint64_t other_address = 0;
  if (memory == reinterpret_cast<void*>(range.begin) &&
      api_.kmt_map(memory, range.size(), &other_address) == 0)
    return true;
  if (api_.kmt_free != nullptr) api_.kmt_free(memory, range.size());
  return false;
}

// Where the thunk takes memory of that kind from next: not before the begin of its range for it.
uint64_t RocmMemory::next_of_thunk(bool coarse) const {
  constexpr uint64_t kSize = kCapturePageBytes;
  void* memory = nullptr;
  if (api_.kmt_free == nullptr ||
      api_.kmt_allocate(0, kSize, kHostAccess | (coarse ? kCoarseGrain : 0), &memory) != 0)
    return 0;
  api_.kmt_free(memory, kSize);
  return reinterpret_cast<uint64_t>(memory);
}

// The thunk has a range of its own for each kind of coherence, and does not look whether a fixed address
// lies in it: from the wrong one it would give the address away a second time.
std::vector<bool> RocmMemory::coarse_to_try(const AddressRange& range) const {
  const bool coarse = !is_fine(range);
  if (range.end > kThunkRangeEnd) return {coarse, !coarse};
  const uint64_t coarse_next = next_of_thunk(true);
  const uint64_t fine_next = next_of_thunk(false);
  if (coarse_next == 0 || fine_next == 0) return {coarse, !coarse};
  if (std::max(coarse_next, fine_next) <= range.begin) return {coarse_next > fine_next};
  if (std::min(coarse_next, fine_next) <= range.begin) return {coarse_next < fine_next};
  return {coarse, !coarse};
}

bool RocmMemory::place_by_thunk(const AddressRange& range) const {
  // From the start: a thunk that refuses a fixed address gives back the memory at 0.
  SteeredMmap steered(reinterpret_cast<const void*>(api_.kmt_allocate));
  for (const bool coarse : coarse_to_try(range)) {
    const uint32_t flags =
        kExecuteAccess | (coarse ? kCoarseGrain : 0) | (is_vram(range) ? kNonPaged : kHostAccess);
    if (allocate_by_thunk(range, flags | kFixedAddress)) return true;
    if (steered.works() && place_by_steering(steered, range, flags)) return true;
  }
  return false;
}

bool RocmMemory::place_by_steering(SteeredMmap& steered, const AddressRange& range,
                                   uint32_t flags) const {
  AddressRange piece = range;
  bool is_there = true;
  for (piece.end = piece.begin; is_there && piece.end < range.end; piece.begin = piece.end) {
    piece.end = piece.begin + steerable_bytes(piece.begin, range.end);
    steered.aim(piece.begin, piece.size());
    // Pieces that are there already stay: nothing runs when a range cannot be had.
    is_there = allocate_by_thunk(piece, flags);
  }
  steered.aim_nowhere();
  return is_there;
}

bool RocmMemory::place_by_vmem(const AddressRange& range) const {
  if (api_.vmem_reserve == nullptr || api_.vmem_create == nullptr || api_.vmem_map == nullptr ||
      api_.vmem_set_access == nullptr || api_.vmem_free == nullptr)
    return false;
  void* memory = nullptr;
  if (api_.vmem_reserve(&memory, range.size(), range.begin, 0) != 0) return false;
  HsaHandle handle;
  const HsaAccess access = {kReadWrite, gpu_};
  if (memory == reinterpret_cast<void*>(range.begin) &&
      api_.vmem_create(vram_pool_, range.size(), 0, 0, &handle) == 0 &&
      api_.vmem_map(memory, range.size(), 0, handle, 0) == 0 &&
      api_.vmem_set_access(memory, range.size(), &access, 1) == 0)
    return true;
  api_.vmem_free(memory, range.size());
  return false;
}

Result<uint64_t> RocmMemory::place_elsewhere(const AddressRange& range) const {
  void* memory = nullptr;
  if (api_.kmt_allocate != nullptr && api_.kmt_map != nullptr) {
    const uint32_t flags = kExecuteAccess | (is_fine(range) ? 0 : kCoarseGrain) |
                           (is_vram(range) ? kNonPaged : kHostAccess);
    uint64_t other_address = 0;
    if (api_.kmt_allocate(is_vram(range) ? gpu_node_ : 0, range.size(), flags, &memory) == 0 &&
        api_.kmt_map(memory, range.size(), &other_address) == 0)
      return reinterpret_cast<uint64_t>(memory);
  } else {
    HsaHandle handle;
    const HsaAccess access = {kReadWrite, gpu_};
    if (api_.vmem_reserve != nullptr && api_.vmem_create != nullptr && api_.vmem_map != nullptr &&
        api_.vmem_set_access != nullptr && api_.vmem_reserve(&memory, range.size(), 0, 0) == 0 &&
        api_.vmem_create(vram_pool_, range.size(), 0, 0, &handle) == 0 &&
        api_.vmem_map(memory, range.size(), 0, handle, 0) == 0 &&
        api_.vmem_set_access(memory, range.size(), &access, 1) == 0)
      return reinterpret_cast<uint64_t>(memory);
  }
  return errorf("the runtime gives no %" PRIu64 " bytes elsewhere", range.size());
}

Status RocmMemory::place(const AddressRange& range) {
  // Memory that somebody uses must not be replaced, and the thunk does not look. What is only reserved
  // is the thunk's own.
  const std::string holder = holder_of(range, /*with_reserved=*/true);
  const std::string user = holder.empty() ? "" : holder_of(range, /*with_reserved=*/false);
  if (!user.empty())
    return errorf("0x%" PRIx64 "-0x%" PRIx64 " cannot be had: taken by %s", range.begin, range.end,
                  user.c_str());
  const bool by_thunk = api_.kmt_allocate != nullptr && api_.kmt_map != nullptr;
  if (by_thunk ? place_by_thunk(range) : place_by_vmem(range)) return {};
  return errorf(
      "0x%" PRIx64 "-0x%" PRIx64 " cannot be had: %s", range.begin, range.end,
      holder.empty() ? "the runtime does not give memory there" : ("taken by " + holder).c_str());
}

}  // namespace wavetap::replay
