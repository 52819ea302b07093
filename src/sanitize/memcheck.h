// Memcheck: a watcher that holds every access of a dispatch against the memory it may use.
//
// Global memory. Most instructions stay inside one allocation: the lowest and the highest byte of all
// lanes, found in the address registers, are held against the one that the instruction was in last, else
// looked up in a sorted copy of the allocations, and that is all (screen()). Only when that fails is each
// lane judged, by the page table and the allocations of the moment, which also happens when memory came
// or went since the copy was made. So an allocation that appears while the kernel runs is no finding.
//
// LDS and scratch are compared with what the dispatch asked for, not with what the hardware rounds it
// up to.
//
// Nothing is changed: an access that faults still does, after it has been noted.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "sanitize/check.h"

namespace wavetap::sanitize {

// For one dispatch at a time.
class Memcheck final : public Check {
 public:
  void begin(const MemoryMap& map) noexcept override;
  // The runtime's own kernels may write what those of the program may only read.
  void set_quiet(bool is_quiet) noexcept override { is_quiet_ = is_quiet; }

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  bool screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  using LanesByKind = uint64_t[kKinds];

  // Where an instruction was last, by a few bits of its address: one of blocks_, or null. Any of them will
  // do, so threads share it without order.
  static constexpr size_t kHints = 256;
  using Hint = std::atomic<const Block*>;

  // Whether nothing can be wrong with the access, as is the case with nearly all.
  bool is_right(const emu::WatchPoint& at, const emu::MemoryAccess& access);
  // Whether the bytes [begin, end) are, and may be used like that.
  bool is_inside_one_block(uint64_t begin, uint64_t end, bool writes, Hint& hint) const;
  bool find_block(uint64_t begin, uint64_t end, bool writes, Hint& hint) const;
  void check(const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void check_global(const emu::WatchPoint& at, const emu::MemoryAccess& access, LanesByKind& bad);
  // True: this lane's element is wrong.
  bool judge(const emu::WatchPoint& at, const emu::MemoryAccess& access, uint64_t address,
             Kind* kind) const;
  void note(const emu::WatchPoint& at, const emu::MemoryAccess& access, Kind kind, uint64_t lanes,
            uint64_t limit_bytes);

  const MemoryMap* map_ = nullptr;
  bool is_quiet_ = false;
  uint64_t epoch_ = 0;
  std::vector<Block> blocks_;  // of that epoch
  std::array<Hint, kHints> hints_ = {};
};

}  // namespace wavetap::sanitize
