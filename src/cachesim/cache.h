// Cache: one set-associative cache with least-recently-used replacement, by line numbers.
//
// Emptying it is free: entries carry the number of the fill they belong to. The memory behind it comes
// from calloc, so that a large cache costs only the lines that are used. When there is none to be had,
// every look-up misses.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace wavetap::cachesim {

// Sectors of 64 bytes: the smallest unit that is fetched or written back.
inline constexpr uint32_t kSectorBytes = 64;
inline constexpr uint32_t kMaxSectors = 4;  // of a line

struct CacheLine {
  uint64_t key = 0;  // fill << 44 | line + 1
  uint32_t used = 0;
  uint8_t valid = 0;                // by sector: has been fetched, or written whole
  uint8_t dirty[kMaxSectors] = {};  // bytes written since, at most kSectorBytes

  uint64_t line() const { return (key & ((uint64_t{1} << 44) - 1)) - 1; }
};

class Cache {
 public:
  Cache() = default;
  // `line_count` is rounded down to whole sets, one at least.
  Cache(uint64_t line_count, uint32_t ways) : ways_(ways) {
    sets_ = line_count / ways;
    if (sets_ == 0) sets_ = 1;
    mask_ = (sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0;
    lines_.reset(static_cast<CacheLine*>(std::calloc(sets_ * ways, sizeof(CacheLine))));
  }

  bool exists() const { return lines_ != nullptr; }

  void clear() {
    if (++fill_ < kMaxFill) return;
    fill_ = 1;
    if (lines_ != nullptr)
      for (uint64_t i = 0; i < sets_ * ways_; ++i) lines_.get()[i] = {};
  }

  // The line, which becomes the most recently used; null: not there.
  CacheLine* find(uint64_t line, uint64_t set) {
    if (lines_ == nullptr) return nullptr;
    CacheLine* const first = set_of(set);
    const uint64_t key = key_of(line);
    for (uint32_t way = 0; way < ways_; ++way) {
      if (first[way].key != key) continue;
      first[way].used = ++clock_;
      return &first[way];
    }
    return nullptr;
  }

  // Makes room for a line that is not there. `evict` is called with the line that goes, if one does.
  template <class F>
  CacheLine* insert(uint64_t line, uint64_t set, F&& evict) {
    if (lines_ == nullptr) return nullptr;
    CacheLine* const first = set_of(set);
    CacheLine* oldest = first;
    for (uint32_t way = 0; way < ways_; ++way) {
      CacheLine& candidate = first[way];
      if (candidate.key >> kFillShift != fill_) {
        oldest = &candidate;
        break;
      }
      if (clock_ - candidate.used > clock_ - oldest->used) oldest = &candidate;
    }
    if (oldest->key >> kFillShift == fill_) evict(*oldest);
    *oldest = {.key = key_of(line), .used = ++clock_, .valid = 0, .dirty = {}};
    return oldest;
  }

  // The line is not there afterwards.
  void drop(uint64_t line, uint64_t set) {
    if (CacheLine* const found = find(line, set)) *found = {};
  }

  // Whether a read of the line hits; it is there afterwards.
  bool read(uint64_t line) {
    if (find(line, line) != nullptr) return true;
    insert(line, line, [](CacheLine&) {});
    return false;
  }

 private:
  static constexpr uint32_t kFillShift = 44;
  static constexpr uint64_t kMaxFill = uint64_t{1} << 20;
  uint64_t key_of(uint64_t line) const { return fill_ << kFillShift | (line + 1); }
  CacheLine* set_of(uint64_t set) {
    return lines_.get() + (mask_ != 0 ? set & mask_ : set % sets_) * ways_;
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  uint64_t sets_ = 1;
  uint64_t mask_ = 0;  // sets_ - 1 where that is one of ones; 0: divide
  uint32_t ways_ = 1;
  uint64_t fill_ = 1;
  uint32_t clock_ = 0;
  std::unique_ptr<CacheLine, Free> lines_;
};

}  // namespace wavetap::cachesim
