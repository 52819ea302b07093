#include "sanitize/initcheck.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "emu/launch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/init_map.h"
#include "sanitize/register_flow.h"

namespace wavetap::sanitize {
namespace {

using emu::MemoryAccess;
using emu::Space;

using Bits = std::vector<uint64_t>;  // one for each byte

// Calls f(word of the bitmap, its bits) for the bytes [address, + size); false when they are not all
// there.
template <class F>
bool for_each_bits(Bits& written, uint64_t address, uint32_t size_bytes, F&& f) {
  const uint64_t end = address + size_bytes;
  if (end > written.size() * 64) return false;
  while (address < end) {
    const uint64_t first = address % 64;
    const uint64_t count = std::min(64 - first, end - address);
    const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    f(written[address / 64], ones << first);
    address += count;
  }
  return true;
}

bool is_unwritten(Bits& written, uint64_t address, uint32_t size_bytes) {
  uint64_t any = 0;
  const bool is_there = for_each_bits(written, address, size_bytes,
                                      [&](uint64_t& word, uint64_t bits) { any |= word & bits; });
  return is_there && any == 0;
}

// The lanes are one behind the other in memory, as most are: then they are one range.
bool is_one_range(const MemoryAccess& access, uint64_t* begin, uint64_t* size_bytes) {
  const int first = std::countr_zero(access.mask);
  const int count = std::popcount(access.mask);
  if (access.mask >> first != ~uint64_t{0} >> (64 - count)) return false;
  *begin = access.address[first];
  *size_bytes = uint64_t{access.size_bytes} * static_cast<uint64_t>(count);
  uint64_t apart = 0;
  for (int i = 0; i < count; ++i)
    apart |=
        access.address[first + i] - *begin - uint64_t{access.size_bytes} * static_cast<uint64_t>(i);
  return apart == 0;
}

// It leaves what it is given, whatever was there: the program's way to store as much as to load.
bool is_exchange_operation(isa::Op op) {
  const std::string_view name = isa::op_name(op);
  const bool swaps =
      name.find("swap") != std::string_view::npos || name.find("wrxchg") != std::string_view::npos;
  return swaps && name.find("cmp") == std::string_view::npos;
}

// A load of less than a register that fills the rest of it with the sign.
bool extends_sign(isa::Op op) {
  const std::string_view name = isa::op_name(op);
  for (const char* part : {"sbyte", "sshort", "_i8", "_i16"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

// As memory is handed out.
bool is_zero(const emu::WatchPoint& at, const MemoryAccess& access, int lane) {
  std::byte bytes[64];
  if (access.size_bytes > sizeof bytes || !read_memory(at.wave, access, lane, bytes)) return false;
  return std::all_of(bytes, bytes + access.size_bytes,
                     [](std::byte byte) { return byte == std::byte{0}; });
}

// What WatchPoint::tag has of an instruction.
namespace tag {
constexpr uintptr_t make(uint64_t hint, bool exchanges, bool followed, bool touches, bool all) {
  return hint << 4 | (exchanges ? 1u : 0u) | (followed ? 2u : 0u) | (touches ? 4u : 0u) |
         (all ? 8u : 0u);
}
constexpr size_t hint(uintptr_t tag) { return tag >> 4; }
constexpr bool is_exchange(uintptr_t tag) { return (tag & 1) != 0; }
constexpr bool is_followed(uintptr_t tag) { return (tag & 2) != 0; }  // find_followed_loads()
// It uses registers that may be followed.
constexpr bool watches(uintptr_t tag) { return (tag & 6) != 0; }
constexpr bool follows_all(uintptr_t tag) { return (tag & 8) != 0; }
}  // namespace tag

}  // namespace

struct Initcheck::Group {
  Bits lds;
  // Bytes of the LDS that the dispatch asked for which are not written yet. Most kernels write all of it
  // soon, and then there is nothing more to look at.
  uint64_t lds_left = kNotCounted;
  static constexpr uint64_t kNotCounted = ~uint64_t{0};
  // What is past the end that the dispatch asked for is memcheck's.
  uint64_t lds_limit(const emu::WatchPoint& at) const {
    return std::min<uint64_t>(at.wave.dispatch->group_segment_bytes, lds.size() * 64);
  }
  std::vector<std::unique_ptr<RegisterFlow>> registers;  // by wave, where they are followed
  std::vector<Bits> scratch;  // by wave: lane for lane; empty: the wave has used none
  InitCursor global;
  // Bytes that were stored undefined; empty: there are none.
  Bits lds_undefined;
  std::vector<Bits> scratch_undefined;  // by wave
  InitCursor global_undefined;
  // Of host_has_touched(): the page that was asked about last in this workgroup, and the answer.
  uint64_t asked_page = ~uint64_t{0};
  bool is_touched = false;
  bool has_host_touched(const MemoryMap& map, uint64_t address) {
    constexpr uint64_t kPage = 4096;
    if (address / kPage != asked_page) {
      asked_page = address / kPage;
      is_touched = map.host_has_touched({address});
    }
    return is_touched;
  }

  // Where a lane's scratch begins in its wave's.
  static uint64_t lane_bytes(const emu::WatchPoint& at) {
    return (at.wave.dispatch->private_segment_bytes + 63) / 64 * 64;
  }
  Bits& scratch_of(const emu::WatchPoint& at) {
    Bits& bits = scratch[at.wave.wave_in_group];
    if (bits.empty()) bits.resize(lane_bytes(at) * at.wave.lanes / 64);
    return bits;
  }
};

Initcheck::Initcheck(Loads loads) : loads_(loads) {}
Initcheck::~Initcheck() = default;

bool Initcheck::is_needed(const MemoryMap& map, bool moves_memory) const noexcept {
  const bool has_parts = map.initialised() != nullptr && map.initialised()->has_parts();
  return (has_parts || moves_memory) == (loads_ == Loads::kAll);
}

InitCursor* Initcheck::undefined_of(Group& group) const {
  InitMap* const all = map_ == nullptr ? nullptr : map_->initialised();
  InitMap* const undefined = all == nullptr ? nullptr : all->undefined();
  if (undefined == nullptr) return nullptr;
  group.global_undefined.use(undefined);
  return &group.global_undefined;
}

void Initcheck::begin(const MemoryMap& map) noexcept {
  ++dispatch_;
  uint64_t dropped = 0;
  ignored_.take(&dropped);
  if (map_ == &map && map.epoch() == epoch_) return;
  map_ = &map;
  epoch_ = map.epoch();
  blocks_.clear();
  if (map.initialised() != nullptr) map.list(blocks_);
  keep_fills();
}

// Of the blocks that are still there. Addresses are not used again in a process that is checked.
void Initcheck::keep_fills() {
  std::vector<std::unique_ptr<Fill>> old = std::move(fills_);
  fills_.clear();
  fills_.reserve(blocks_.size());
  auto next = old.begin();
  for (const Block& block : blocks_) {
    while (next != old.end() && (*next)->begin < block.begin) ++next;
    const bool is_known = next != old.end() && (*next)->begin == block.begin;
    if (is_known && (*next)->end == block.end) {
      fills_.push_back(std::move(*next++));
      continue;
    }
    fills_.push_back(std::make_unique<Fill>());
    fills_.back()->begin = fills_.back()->gap = block.begin;
    fills_.back()->end = block.end;
    if (is_known) ++next;
  }
}

bool Initcheck::is_full(const Block& block, Fill& fill) {
  if (fill.is_full.load(std::memory_order_relaxed)) return true;
  // Once for a dispatch, and on from where it was not written last time.
  if (fill.asked.load(std::memory_order_relaxed) == dispatch_) return false;
  const std::lock_guard lock(mutex_);
  if (fill.asked.exchange(dispatch_, std::memory_order_relaxed) == dispatch_)
    return fill.is_full.load(std::memory_order_relaxed);
  InitCursor cursor;
  cursor.use(map_->initialised());
  uint64_t gap = 0;
  uint64_t count = 0;
  const bool has_gap = cursor.find_gap(fill.gap, block.end - fill.gap, 1, &gap, &count);
  fill.gap = has_gap ? gap : block.end;
  fill.is_full.store(!has_gap, std::memory_order_relaxed);
  return !has_gap;
}

bool Initcheck::is_settled(uint64_t begin, uint64_t end, std::atomic<uint32_t>& hint) {
  const auto has_all = [&](const Block& block) { return begin >= block.begin && end <= block.end; };
  uint32_t at = hint.load(std::memory_order_relaxed);
  if (at >= blocks_.size() || !has_all(blocks_[at])) {
    const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), begin,
                                         [](uint64_t a, const Block& b) { return a < b.begin; });
    if (behind == blocks_.begin() || !has_all(*(behind - 1))) return false;
    at = static_cast<uint32_t>(behind - 1 - blocks_.begin());
    hint.store(at, std::memory_order_relaxed);
  }
  return !blocks_[at].starts_undefined || is_full(blocks_[at], *fills_[at]);
}

bool Initcheck::screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept {
  if (span == nullptr || (tag::watches(at.tag) && registers_of(at) != nullptr)) return true;
  Group& group = *static_cast<Group*>(at.state);
  if (span->space == Space::kLds) return group.lds_left != 0 || !group.lds_undefined.empty();
  if (map_ == nullptr || map_->initialised() == nullptr) return false;
  InitCursor* const undefined = undefined_of(group);
  if (undefined != nullptr && undefined->any_written(span->begin, span->end - span->begin))
    return true;
  return !is_settled(span->begin, span->end, hints_[tag::hint(at.tag)]);
}

RegisterFlow* Initcheck::registers_of(const emu::WatchPoint& at) const {
  const Group& group = *static_cast<Group*>(at.state);
  return group.registers.empty() ? nullptr : group.registers[at.wave.wave_in_group].get();
}

void Initcheck::dispatch_began(const emu::Launch& launch) noexcept {
  constexpr uint32_t kSystem = 6;  // workgroup numbers and sizes, scratch
  first_scalars_ = launch.user_sgpr_count + kSystem;
}

void Initcheck::before(const emu::WatchPoint& at) noexcept {
  if (!tag::follows_all(at.tag) || is_quiet_) {
    if (RegisterFlow* const registers = registers_of(at))
      registers->step(at, is_quiet_ ? ignored_ : findings());
    return;
  }
  Group& group = *static_cast<Group*>(at.state);
  if (group.registers.empty()) group.registers.resize(at.wave.workgroup->waves.size());
  std::unique_ptr<RegisterFlow>& registers = group.registers[at.wave.wave_in_group];
  if (registers == nullptr) registers = std::make_unique<RegisterFlow>(first_scalars_);
  registers->step(at, findings());
}

emu::Wants Initcheck::wants(const isa::Program& program, int32_t index) noexcept {
  const isa::Inst& inst = program.insts()[index];
  if (index == 0)
    follows_ = {may_read_unwritten(program), find_followed_loads(program, loads_ == Loads::kAll)};
  const auto at = static_cast<size_t>(index);
  const bool touches = !follows_.parts.touches.empty() && follows_.parts.touches[at];
  const bool is_followed = !follows_.parts.loads.empty() && follows_.parts.loads[at];
  switch (inst.family) {
    case isa::Family::kSmem:
    case isa::Family::kDs:
    case isa::Family::kFlat:
    case isa::Family::kMubuf:
    case isa::Family::kImage: {
      const uint64_t hint = program.pc_of(index).value / 4 % kHints;
      return {.before = follows_.is_all,
              .accessing = true,
              .screens = true,
              .tag = tag::make(hint, is_exchange_operation(inst.op), is_followed, touches,
                               follows_.is_all)};
    }
    default:
      return {.before = follows_.is_all || touches,
              .tag = tag::make(0, false, false, touches, follows_.is_all)};
  }
}

void Initcheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  std::unique_ptr<Group> mine;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (mine == nullptr) mine = std::make_unique<Group>();
  mine->lds.assign((group.lds_bytes + 63) / 64, 0);
  mine->lds_left = Group::kNotCounted;
  mine->registers.clear();
  mine->scratch.resize(group.waves.size());
  for (Bits& bits : mine->scratch) bits.clear();
  mine->asked_page = ~uint64_t{0};
  mine->lds_undefined.clear();
  mine->scratch_undefined.clear();
  mine->global.use(map_ == nullptr ? nullptr : map_->initialised());
  state = mine.release();
}

void Initcheck::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  std::unique_ptr<Group> group(static_cast<Group*>(state));
  state = nullptr;
  const std::lock_guard lock(mutex_);
  if (group != nullptr) idle_.push_back(std::move(group));
}

const Block* Initcheck::block_of(uint64_t address) const {
  auto block = std::upper_bound(blocks_.begin(), blocks_.end(), address,
                                [](uint64_t at, const Block& b) { return at < b.begin; });
  if (block == blocks_.begin()) return nullptr;
  --block;
  return address < block->end ? &*block : nullptr;
}

bool Initcheck::is_in_one(const MemoryAccess& access, bool* starts_undefined) const {
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  emu::for_each_lane(access.mask, [&](int lane) {
    low = std::min(low, access.address[lane]);
    high = std::max(high, access.address[lane]);
  });
  const Block* const block = block_of(low);
  if (block == nullptr || high >= block->end) return false;
  *starts_undefined = block->starts_undefined;
  return true;
}

uint64_t Initcheck::wrong_in_lds(const emu::WatchPoint& at, Group& group,
                                 const MemoryAccess& access) const {
  if (group.lds_left == 0) return 0;
  const uint64_t limit = group.lds_limit(at);
  const bool is_small = std::has_single_bit(access.size_bytes) && access.size_bytes <= 8;
  const uint64_t ones = (uint64_t{1} << (access.size_bytes & 63)) - 1;
  uint64_t wrong = 0;
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    if (address + access.size_bytes > limit) return;
    // An aligned element is in one word of bits.
    const bool is_unset = is_small && address % access.size_bytes == 0
                              ? (group.lds[address / 64] >> (address % 64) & ones) == 0
                              : is_unwritten(group.lds, address, access.size_bytes);
    if (is_unset) wrong |= uint64_t{1} << lane;
  });
  return wrong;
}

void Initcheck::mark_lds(const emu::WatchPoint& at, Group& group, const MemoryAccess& access) {
  const uint64_t limit = group.lds_limit(at);
  if (group.lds_left == Group::kNotCounted) group.lds_left = limit;
  if (group.lds_left == 0) return;
  emu::for_each_lane(access.mask, [&](int lane) {
    if (access.address[lane] + access.size_bytes > limit) return;
    for_each_bits(group.lds, access.address[lane], access.size_bytes,
                  [&](uint64_t& word, uint64_t bits) {
                    group.lds_left -= static_cast<uint64_t>(std::popcount(bits & ~word));
                    word |= bits;
                  });
  });
}

uint64_t Initcheck::wrong_in_private(const emu::WatchPoint& at, Group& group,
                                     const MemoryAccess& access) const {
  if (access.is_scalar) return 0;
  Bits& bits = group.scratch_of(at);
  const uint64_t limit = at.wave.dispatch->private_segment_bytes;
  const uint64_t lane_bytes = Group::lane_bytes(at);
  uint64_t wrong = 0;
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    if (address + access.size_bytes <= limit &&
        is_unwritten(bits, static_cast<uint64_t>(lane) * lane_bytes + address, access.size_bytes))
      wrong |= uint64_t{1} << lane;
  });
  return wrong;
}

uint64_t Initcheck::wrong_in_global(const emu::WatchPoint& at, Group& group,
                                    const MemoryAccess& access) {
  bool starts_undefined = false;
  const bool is_one = is_in_one(access, &starts_undefined);
  if (is_one && !starts_undefined) return 0;
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  if (is_one && is_one_range(access, &begin, &size_bytes) &&
      group.global.all_written(begin, size_bytes))
    return 0;
  uint64_t wrong = 0;
  emu::for_each_lane(access.mask, [&](int lane) {
    const uint64_t address = access.address[lane];
    if (group.global.any_written(address, access.size_bytes)) return;
    const Block* const block = block_of(address);
    if (block != nullptr && block->starts_undefined) wrong |= uint64_t{1} << lane;
  });
  // Somebody may have written it whom nobody saw.
  uint64_t surely = 0;
  emu::for_each_lane(wrong, [&](int lane) {
    const GpuAddr address{access.address[lane]};
    if (is_zero(at, access, lane) && !group.has_host_touched(*map_, address.value))
      surely |= uint64_t{1} << lane;
    group.global.mark(address.value, access.size_bytes);
  });
  return surely;
}

void Initcheck::mark(const emu::WatchPoint& at, Group& group, const MemoryAccess& access) {
  if (access.space == Space::kLds) return mark_lds(at, group, access);
  if (access.space == Space::kScratch) {
    if (access.is_scalar) return;
    Bits& written = group.scratch_of(at);
    const uint64_t lane_bytes = Group::lane_bytes(at);
    emu::for_each_lane(access.mask, [&](int lane) {
      if (access.address[lane] + access.size_bytes > lane_bytes) return;
      for_each_bits(written, static_cast<uint64_t>(lane) * lane_bytes + access.address[lane],
                    access.size_bytes, [](uint64_t& word, uint64_t bits) { word |= bits; });
    });
    return;
  }
  bool starts_undefined = false;
  const bool is_one = is_in_one(access, &starts_undefined);
  if (is_one && !starts_undefined) return;
  InitMap* const written = map_->initialised();
  if (access.size_bytes < 4 && written != nullptr) written->note_part();
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  if (is_one && is_one_range(access, &begin, &size_bytes))
    return group.global.mark(begin, size_bytes);
  // An allocation that came while the kernel runs is not among the blocks.
  emu::for_each_lane(access.mask, [&](int lane) {
    if (access.address[lane] < emu::kScratchVa)
      group.global.mark(access.address[lane], access.size_bytes);
  });
}

void Initcheck::note(Kind kind, const emu::WatchPoint& at, const MemoryAccess& access,
                     uint64_t lanes) {
  Finding finding = finding_at(kind, at, lanes);
  set_access(finding, access);
  if (access.space == Space::kGlobal) finding.neighbour = map_->neighbour({finding.address});
  findings().add(finding);
}

Initcheck::Parts Initcheck::global_parts(const emu::WatchPoint& at, Group& group,
                                         const MemoryAccess& access, int lane) {
  Parts parts;
  const uint64_t address = access.address[lane];
  const uint32_t size_bytes = access.size_bytes;
  InitCursor* const stored = undefined_of(group);
  const bool may_be_stored = stored != nullptr && stored->any_written(address, size_bytes);
  if (!may_be_stored && group.global.all_written(address, size_bytes)) return parts;
  const Block* const block = block_of(address);
  if (block == nullptr || !block->starts_undefined) return parts;
  const bool is_none = !group.global.any_written(address, size_bytes);
  if (is_none) parts.undefined = ~(~uint64_t{0} << size_bytes);
  for (uint32_t i = 0; i < size_bytes && !is_none; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if (!group.global.any_written(address + i, 1)) parts.undefined |= bit;
    else if (may_be_stored && stored->any_written(address + i, 1)) parts.stored |= bit;
  }
  // Somebody may have written it whom nobody saw.
  std::byte bytes[64];
  if (parts.undefined != 0 && !read_memory(at.wave, access, lane, bytes)) parts.undefined = 0;
  for (uint32_t i = 0; i < size_bytes; ++i)
    if ((parts.undefined >> i & 1) != 0 && bytes[i] != std::byte{0})
      parts.undefined &= ~(uint64_t{1} << i);
  parts.undefined |= parts.stored;
  if (parts.undefined == 0) return parts;
  return group.has_host_touched(*map_, address) ? Parts() : parts;
}

Initcheck::Parts Initcheck::parts_of(const emu::WatchPoint& at, Group& group,
                                     const MemoryAccess& access, int lane) {
  if (access.space == Space::kGlobal) return global_parts(at, group, access, lane);
  Parts parts;
  uint64_t address = access.address[lane];
  Bits* written = &group.lds;
  Bits* stored = &group.lds_undefined;
  if (access.space == Space::kScratch) {
    if (access.is_scalar || address + access.size_bytes > at.wave.dispatch->private_segment_bytes)
      return parts;
    address += static_cast<uint64_t>(lane) * Group::lane_bytes(at);
    written = &group.scratch_of(at);
    stored =
        group.scratch_undefined.empty() ? nullptr : &group.scratch_undefined[at.wave.wave_in_group];
  } else if (address + access.size_bytes > group.lds_limit(at)) {
    return parts;
  }
  for (uint32_t i = 0; i < access.size_bytes; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if (is_unwritten(*written, address + i, 1)) parts.undefined |= bit;
    else if (stored != nullptr && !stored->empty() && !is_unwritten(*stored, address + i, 1))
      parts.stored |= bit;
  }
  parts.undefined |= parts.stored;
  return parts;
}

// Without looking at each lane.
bool Initcheck::is_surely_defined(Group& group, const MemoryAccess& access) const {
  if (access.space == Space::kLds) return group.lds_left == 0 && group.lds_undefined.empty();
  if (access.space == Space::kScratch) return false;
  bool starts_undefined = false;
  if (!is_in_one(access, &starts_undefined)) return false;
  if (!starts_undefined) return true;
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  if (!is_one_range(access, &begin, &size_bytes) || !group.global.all_written(begin, size_bytes))
    return false;
  InitCursor* const stored = undefined_of(group);
  return stored == nullptr || !stored->any_written(begin, size_bytes);
}

// As copies of memory that nobody has written come across them.
bool Initcheck::is_row_undefined(const emu::WatchPoint& at, Group& group,
                                 const MemoryAccess& access, bool* was_stored) {
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  bool starts_undefined = false;
  std::byte bytes[1024];
  if (access.space != Space::kGlobal || !is_one_range(access, &begin, &size_bytes) ||
      size_bytes > sizeof bytes || !is_in_one(access, &starts_undefined) || !starts_undefined)
    return false;
  InitCursor* const stored = undefined_of(group);
  *was_stored = stored != nullptr && stored->all_written(begin, size_bytes);
  if (!*was_stored) {
    if (group.global.any_written(begin, size_bytes)) return false;
    MemoryAccess row = access;
    row.size_bytes = static_cast<uint32_t>(size_bytes);
    row.address = &begin;
    if (!read_memory(at.wave, row, 0, bytes) ||
        std::any_of(bytes, bytes + size_bytes, [](std::byte byte) { return byte != std::byte{0}; }))
      return false;
  }
  return !group.has_host_touched(*map_, begin) &&
         !group.has_host_touched(*map_, begin + size_bytes - 1);
}

// The registers of elements that are undefined in part, or in whole where that is not wrong.
void Initcheck::follow_parts(const emu::WatchPoint& at, Group& group, const MemoryAccess& access,
                             uint64_t wrong) {
  if (access.data == nullptr || access.size_bytes == 0 || access.size_bytes > 16) return;
  if (is_surely_defined(group, access)) return;
  uint64_t lanes[16] = {};
  uint64_t any = 0;
  bool was_stored = false;
  if (is_row_undefined(at, group, access, &was_stored)) {
    any = access.mask & ~wrong;
    std::fill_n(lanes, access.size_bytes, any);
  }
  emu::for_each_lane(any != 0 ? 0 : access.mask & ~wrong, [&](int lane) {
    const Parts parts = parts_of(at, group, access, lane);
    any |= parts.undefined;
    was_stored |= parts.stored != 0;
    for (uint64_t rest = parts.undefined; rest != 0; rest &= rest - 1)
      lanes[std::countr_zero(rest)] |= uint64_t{1} << lane;
  });
  if (any == 0) return;
  if (group.registers.empty()) group.registers.resize(at.wave.workgroup->waves.size());
  std::unique_ptr<RegisterFlow>& registers = group.registers[at.wave.wave_in_group];
  if (registers == nullptr) registers = std::make_unique<RegisterFlow>();
  const Kind kind = access.space == Space::kLds       ? Kind::kUninitialisedLds
                    : access.space == Space::kScratch ? Kind::kUninitialisedPrivate
                                                      : Kind::kUninitialisedGlobal;
  const bool is_signed = access.size_bytes < 4 && extends_sign(at.inst.op);
  const uint32_t end = access.data_byte + access.size_bytes;
  for (uint32_t number = access.data_byte / 4; number * 4 < end; ++number) {
    RegisterFlow::LoadedBytes bytes{.kind = kind, .number = number, .was_stored = was_stored};
    bool has_any = false;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t byte = number * 4 + i;
      if (byte < access.data_byte) continue;
      const uint32_t offset = byte - access.data_byte;
      if (offset >= access.size_bytes) {
        if (is_signed) bytes.lanes[i] = lanes[access.size_bytes - 1];
        continue;
      }
      bytes.lanes[i] = lanes[offset];
      if (lanes[offset] == 0) continue;
      if (!has_any) bytes.first = offset;
      bytes.last = offset;
      has_any = true;
    }
    if (has_any) registers->load_undefined(at, *access.data, bytes);
  }
}

// What was stored before is written over; what is undefined of the new is noted.
void Initcheck::note_stored(const emu::WatchPoint& at, Group& group, const MemoryAccess& access) {
  const RegisterFlow* const registers =
      access.access == emu::Access::kStore && access.data != nullptr ? registers_of(at) : nullptr;
  uint64_t lanes[16] = {};
  uint64_t any = 0;
  uint64_t whole = access.mask;  // lanes of which nothing is defined
  for (uint32_t i = 0; registers != nullptr && i < std::min(access.size_bytes, 16u); ++i) {
    lanes[i] = registers->undefined_lanes(*access.data, access.data_byte + i) & access.mask;
    any |= lanes[i];
    whole &= lanes[i];
  }
  if (any == 0 || access.size_bytes > 16) whole = 0;
  const auto note = [&](uint64_t address, int lane, auto&& set, auto&& clear) {
    if ((any >> lane & 1) == 0) return clear(address, access.size_bytes);
    for (uint32_t i = 0; i < access.size_bytes; ++i) {
      if (i < 16 && (lanes[i] >> lane & 1) != 0) set(address + i);
      else clear(address + i, 1);
    }
  };
  if (access.space == Space::kGlobal) {
    InitMap* const all = map_->initialised();
    if (any != 0) all->make_undefined();
    InitCursor* const undefined = undefined_of(group);
    if (undefined == nullptr) return;
    uint64_t begin = 0;
    uint64_t size_bytes = 0;
    const bool is_range = is_one_range(access, &begin, &size_bytes) && begin < emu::kScratchVa;
    if (is_range && whole == access.mask) return undefined->mark(begin, size_bytes);
    if (is_range && any == 0) return undefined->unmark(begin, size_bytes);
    emu::for_each_lane(access.mask, [&](int lane) {
      if (access.address[lane] >= emu::kScratchVa) return;
      note(
          access.address[lane], lane, [&](uint64_t at_byte) { undefined->mark(at_byte, 1); },
          [&](uint64_t from, uint32_t size) { undefined->unmark(from, size); });
    });
    return;
  }
  const bool is_lds = access.space == Space::kLds;
  if (any == 0 && (is_lds ? group.lds_undefined.empty() : group.scratch_undefined.empty())) return;
  if (access.is_scalar) return;
  if (!is_lds && group.scratch_undefined.empty())
    group.scratch_undefined.resize(group.scratch.size());
  Bits& bits = is_lds ? group.lds_undefined : group.scratch_undefined[at.wave.wave_in_group];
  if (bits.empty()) bits.resize(is_lds ? group.lds.size() : group.scratch_of(at).size());
  const uint64_t apart = is_lds ? 0 : Group::lane_bytes(at);
  emu::for_each_lane(access.mask, [&](int lane) {
    note(
        access.address[lane] + static_cast<uint64_t>(lane) * apart, lane,
        [&](uint64_t byte) {
          for_each_bits(bits, byte, 1, [](uint64_t& word, uint64_t ones) { word |= ones; });
        },
        [&](uint64_t begin, uint32_t size) {
          for_each_bits(bits, begin, size, [](uint64_t& word, uint64_t ones) { word &= ~ones; });
        });
  });
}

void Initcheck::accessing(const emu::WatchPoint& at,
                          std::span<const MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  const bool has_global = map_ != nullptr && map_->initialised() != nullptr;
  if (tag::watches(at.tag) && !tag::follows_all(at.tag))
    if (RegisterFlow* const registers = registers_of(at))
      registers->step(at, is_quiet_ ? ignored_ : findings());
  for (const MemoryAccess& access : accesses) {
    const bool uses = access.reads() && (!tag::is_exchange(at.tag) || !access.writes());
    if (!uses || access.mask == 0) continue;
    if (is_quiet_) {
      // Nothing is wrong with what is only moved; where it goes is undefined then.
      if (tag::is_followed(at.tag) && (access.space != Space::kGlobal || has_global))
        follow_parts(at, group, access, 0);
      continue;
    }
    uint64_t wrong = 0;
    Kind kind = Kind::kUninitialisedLds;
    if (access.space == Space::kLds) {
      wrong = wrong_in_lds(at, group, access);
    } else if (access.space == Space::kScratch) {
      wrong = wrong_in_private(at, group, access);
      kind = Kind::kUninitialisedPrivate;
    } else if (has_global) {
      wrong = wrong_in_global(at, group, access);
      kind = Kind::kUninitialisedGlobal;
    }
    if (tag::is_followed(at.tag) && (access.space != Space::kGlobal || has_global))
      follow_parts(at, group, access, wrong);
    if (wrong == 0) continue;
    note(kind, at, access, wrong);
    if (access.space == Space::kGlobal) continue;  // has been marked
    MemoryAccess told = access;
    told.mask = wrong;
    told.relation = emu::Relation::kNone;
    mark(at, group, told);
  }
  for (const MemoryAccess& access : accesses) {
    if (!access.writes() || access.mask == 0 || (access.space == Space::kGlobal && !has_global))
      continue;
    note_stored(at, group, access);
    mark(at, group, access);
  }
}

}  // namespace wavetap::sanitize
