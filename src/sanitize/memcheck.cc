#include "sanitize/memcheck.h"

#include <algorithm>
#include <bit>

#include "emu/wave.h"
#include "isa/program.h"
#include "sanitize/device_heap.h"

namespace wavetap::sanitize {
namespace {

using emu::Access;
using emu::MemoryAccess;
using emu::Space;

// The compiler reads a byte, or three words, with one scalar load of four bytes, or four words, where
// the alignment says that the rest is on the same page. Nothing is done with what it did not ask for.
constexpr uint64_t kScalarSlack = 16;

// Further away than this from everything, an address has nothing to do with any allocation: half of
// what lies between two guarded ones.
constexpr uint64_t kNearBytes = 0x200'0000;

bool is_atomic(const MemoryAccess& access) {
  return access.access == Access::kAtomic || access.access == Access::kAtomicReturn;
}

uint64_t misaligned_lanes(const MemoryAccess& access) {
  if (!is_atomic(access) || !std::has_single_bit(access.size_bytes)) return 0;
  uint64_t lanes = 0;
  // No relation is known of the lanes of an atomic: each has its address.
  emu::for_each_lane(access.mask, [&](int lane) {
    if (access.address[lane] % access.size_bytes != 0) lanes |= uint64_t{1} << lane;
  });
  return lanes;
}

// Lanes of LDS or scratch that leave the first `limit_bytes`.
uint64_t lanes_beyond(const MemoryAccess& access, uint64_t limit_bytes) {
  uint64_t lanes = access.outside;
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t at = access.address[lane];
    if (at >= limit_bytes || limit_bytes - at < access.size_bytes) lanes |= uint64_t{1} << lane;
  });
  return lanes;
}

bool has_all(const Block& block, uint64_t begin, uint64_t end, bool writes) {
  return begin >= block.begin && end <= block.end && (block.writable || !writes);
}

bool is_allowed(emu::Memory& memory, uint64_t address, bool writes) {
  const emu::MappedRange range = memory.lookup({address});
  return range.contains(address, 1) && (writes ? range.writable : range.readable);
}

}  // namespace

void Memcheck::begin(const MemoryMap& map) noexcept {
  if (map_ == &map && map.epoch() == epoch_) return;
  map_ = &map;
  epoch_ = map.epoch();  // before the list: a change in between makes the copy old, not wrong
  for (Hint& hint : hints_) hint.store(nullptr, std::memory_order_relaxed);
  blocks_.clear();
  map.list(blocks_);
}

emu::Wants Memcheck::wants(const isa::Program& program, int32_t index) noexcept {
  switch (program.insts()[index].family) {
    case isa::Family::kSmem:
    case isa::Family::kDs:
    case isa::Family::kFlat:
    case isa::Family::kMubuf:
    case isa::Family::kImage:
      return {.accessing = true,
              .screens = true,
              .leaves_out_lds = true,
              .rows_suffice = true,
              .tag = program.pc_of(index).value / 4 % kHints};
    default: return {};
  }
}

inline bool Memcheck::is_inside_one_block(uint64_t begin, uint64_t end, bool writes,
                                          Hint& hint) const {
  const Block* const last = hint.load(std::memory_order_relaxed);
  if (last != nullptr && has_all(*last, begin, end, writes)) [[likely]]
    return true;
  return find_block(begin, end, writes, hint);
}

bool Memcheck::find_block(uint64_t begin, uint64_t end, bool writes, Hint& hint) const {
  auto block = std::upper_bound(blocks_.begin(), blocks_.end(), begin,
                                [](uint64_t at, const Block& b) { return at < b.begin; });
  if (block == blocks_.begin()) return false;
  --block;
  if (!has_all(*block, begin, end, writes)) return false;
  hint.store(&*block, std::memory_order_relaxed);
  return true;
}

bool Memcheck::screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept {
  if (span == nullptr || !span->is_aligned()) return true;
  if (span->space == Space::kLds) return span->end > at.wave.dispatch->group_segment_bytes;
  return map_->epoch() != epoch_ ||
         !is_inside_one_block(span->begin, span->end, span->writes, hints_[at.tag]);
}

bool Memcheck::is_right(const emu::WatchPoint& at, const MemoryAccess& access) {
  if (access.outside != 0) return false;
  if (access.mask == 0) return true;
  const emu::AddressSpan span = access.span();
  const emu::Dispatch& dispatch = *at.wave.dispatch;
  uint64_t limit = 0;
  switch (access.space) {
    case Space::kGlobal:
      if (map_->epoch() != epoch_ || span.last + access.size_bytes < span.last ||
          !is_inside_one_block(span.first, span.last + access.size_bytes, access.writes(),
                               hints_[at.tag]))
        return false;
      return misaligned_lanes(access) == 0;
    case Space::kLds: limit = dispatch.group_segment_bytes; break;
    case Space::kScratch:
      limit = uint64_t{dispatch.private_segment_bytes} * (access.is_scalar ? at.wave.lanes : 1);
      break;
  }
  return span.last < limit && limit - span.last >= access.size_bytes &&
         misaligned_lanes(access) == 0;
}

bool Memcheck::judge(const emu::WatchPoint& at, const MemoryAccess& access, uint64_t address,
                     Kind* kind) const {
  emu::Memory& memory = *at.wave.dispatch->memory;
  // Scratch that is addressed as memory.
  if (address - emu::kScratchVa < emu::kSharedAperture - emu::kScratchVa) return false;
  const uint64_t last = address + access.size_bytes - 1;
  const Neighbour beside = map_->neighbour({address});
  if (is_allowed(memory, address, access.writes()) && is_allowed(memory, last, access.writes())) {
    uint64_t end = beside.begin + beside.size_bytes;
    if (access.writes() && !is_quiet_ && map_->is_read_only({address})) {
      *kind = Kind::kNoAccess;
      return true;
    }
    // The heap's own data lies between its blocks.
    DeviceHeap* const heap = beside.is_block ? map_->heap() : nullptr;
    if (heap != nullptr && heap->is_library(at.pc.value)) return false;
    if (beside.is_block && (beside.freed || beside.relation == Relation::kBefore)) {
      *kind = beside.freed ? Kind::kUseAfterFree : Kind::kOutOfBounds;
      return true;
    }
    if (beside.relation == Relation::kInside && beside.freed) return false;  // mapped anew since
    const bool is_past = beside.relation == Relation::kPast && beside.exact;
    if (beside.relation != Relation::kInside && !is_past) return false;
    if (access.is_scalar && !access.writes()) end = (end + kScalarSlack - 1) & ~(kScalarSlack - 1);
    *kind = Kind::kOutOfBounds;
    return beside.exact && last >= end;
  }
  if (beside.relation == Relation::kInside) {
    // Its last bytes may be past the end.
    const bool is_crossing = !beside.freed && last - beside.begin >= beside.size_bytes;
    *kind = beside.freed ? Kind::kUseAfterFree : is_crossing ? Kind::kOutOfBounds : Kind::kNoAccess;
  } else {
    const bool is_near = beside.relation != Relation::kNone && beside.distance < kNearBytes;
    *kind = is_near ? Kind::kOutOfBounds : Kind::kInvalidAddress;
  }
  return true;
}

void Memcheck::check_global(const emu::WatchPoint& at, const MemoryAccess& access,
                            LanesByKind& bad) {
  emu::for_each_lane(access.mask, [&](int lane) {
    Kind kind{};
    if (judge(at, access, access.address[lane], &kind))
      bad[static_cast<size_t>(kind)] |= uint64_t{1} << lane;
  });
}

void Memcheck::note(const emu::WatchPoint& at, const MemoryAccess& access, Kind kind,
                    uint64_t lanes, uint64_t limit_bytes) {
  Finding finding = finding_at(kind, at, lanes);
  set_access(finding, access);
  finding.limit_bytes = limit_bytes;
  if (access.space == Space::kGlobal) finding.neighbour = map_->neighbour({finding.address});
  findings().add(finding);
}

void Memcheck::check(const emu::WatchPoint& at, const MemoryAccess& access) {
  const emu::Dispatch& dispatch = *at.wave.dispatch;
  LanesByKind bad = {};
  uint64_t limit = 0;
  if (access.space == Space::kLds) {
    limit = dispatch.group_segment_bytes;
    bad[size_t(Kind::kLdsOutOfBounds)] = lanes_beyond(access, limit);
  } else if (access.space == Space::kScratch) {
    limit = dispatch.private_segment_bytes;
    if (access.is_scalar) limit *= at.wave.lanes;
    bad[size_t(Kind::kScratchOutOfBounds)] = lanes_beyond(access, limit);
  } else if (access.mask != 0) {
    check_global(at, access, bad);
  }
  bad[size_t(Kind::kMisalignedAtomic)] = misaligned_lanes(access);
  for (size_t kind = 0; kind < kKinds; ++kind)
    if (bad[kind] != 0) note(at, access, static_cast<Kind>(kind), bad[kind], limit);
}

void Memcheck::accessing(const emu::WatchPoint& at,
                         std::span<const MemoryAccess> accesses) noexcept {
  for (const MemoryAccess& access : accesses)
    if (!is_right(at, access)) check(at, *emu::WholeAccess(access));
}

}  // namespace wavetap::sanitize
