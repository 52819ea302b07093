// MemorySystem: the caches of a GPU between its compute units and its memory.
//
//   CDNA   vector L1 of a CU ─┐
//          scalar cache ──────┴─► L2 of an XCC, by channels ─► Infinity Cache ─► memory
//   RDNA   L0 of a CU ─┐
//          scalar ─────┴─► GL1 of a shader array ─► L2 ─► Infinity Cache ─► memory
//
// Vector L1s write through and do not allocate on a store. The L2 allocates on everything, keeps what
// is written until the line goes, and does not fetch what a store overwrites. What is dirty when the
// dispatch ends counts as written back. Replacement is least recently used everywhere.
//
// A dispatch begins with empty caches (kCold), or with what those before it left in L2 and Infinity
// Cache (kWarm), as on hardware: it empties only the caches above the L2 between kernels. What one XCC
// has written is then gone from the L2s of the others.
//
// What it does not know: time (a line is there as soon as it is asked for), pages and their
// translation, compression, copies by the host or the copy engine.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cachesim/access_stream.h"
#include "cachesim/cache.h"
#include "cachesim/counters.h"
#include "cachesim/geometry.h"

namespace wavetap::cachesim {

enum class Start : uint8_t { kCold, kWarm };

// What is divided by again and again, mostly a power of two: shifted by then, as a division takes longer
// than the look-up it is for.
class Divisor {
 public:
  explicit Divisor(uint32_t value)
      : value_(value), shift_(std::has_single_bit(value) ? std::countr_zero(value) : kNone) {}
  operator uint32_t() const { return value_; }
  template <std::unsigned_integral T>
  friend T operator/(T number, const Divisor& by) {
    return by.shift_ != kNone ? number >> by.shift_ : number / by.value_;
  }
  template <std::unsigned_integral T>
  friend T operator%(T number, const Divisor& by) {
    return by.shift_ != kNone ? number & (by.value_ - 1) : number % by.value_;
  }

 private:
  static constexpr int kNone = -1;
  uint32_t value_;
  int shift_;
};

// For one thread at a time.
class MemorySystem {
 public:
  explicit MemorySystem(const Geometry& geometry, Start start = Start::kCold);

  // A dispatch begins.
  void begin();
  // One memory instruction of a wave on compute unit `cu`, counted over all XCCs.
  void access(uint32_t cu, const AccessStream::Item& item, MemoryCounters& counters,
              SiteCounts& site);
  // `lines` instruction lines, fetched by `caches` instruction caches of `xccs` XCCs: all but the first
  // of each XCC find them in the L2.
  void fetch_instructions(uint64_t lines, uint64_t caches, uint64_t xccs, MemoryCounters& counters);
  // Writes back what is dirty, and counts what only the end can tell.
  void finish(MemoryCounters& counters);

 private:
  struct L2Place {
    uint32_t channel;
    uint64_t set;
  };
  L2Place place_of(uint64_t line) const;
  uint32_t xcc_of(uint32_t cu) const { return cu / cus_per_xcc_; }
  void load(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c, SiteCounts& site);
  void store(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c, SiteCounts& site);
  void scalar_load(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c,
                   SiteCounts& site);
  // Sectors first … first + count of one L2 line that the level above wants.
  void read_below(uint32_t cu, uint64_t first, uint32_t count, bool bypass_gl1, MemoryCounters& c,
                  SiteCounts& site);
  void l2_read(uint32_t xcc, uint64_t first, uint32_t count, MemoryCounters& c, SiteCounts& site);
  void l2_write(uint32_t xcc, uint64_t sector, uint32_t bytes, bool fetches, MemoryCounters& c,
                SiteCounts& site);
  void fabric_read(uint64_t first, uint32_t count, MemoryCounters& c);
  void dram_read(uint64_t first, uint32_t count, MemoryCounters& c);
  void write_back(CacheLine& line, MemoryCounters& c);
  void make_dirty(uint32_t xcc, CacheLine& line, uint32_t sector, uint32_t bytes);
  void fetch(CacheLine& line, uint64_t base, uint32_t first, uint32_t count, MemoryCounters& c);
  void clean();

  struct DirtyLine {
    CacheLine* line;
    uint32_t xcc;
  };
  const Geometry g_;
  const Start start_;
  const Divisor l1_sectors_;  // of a line
  const Divisor l2_sectors_;
  const Divisor l2_unit_;        // sectors of a request to the L2 at most
  const Divisor l2_channels_;    // of an XCC
  const Divisor channel_lines_;  // neighbours that share a channel
  const Divisor cus_per_xcc_;
  const Divisor cus_per_array_;  // 1 where there is no GL1
  std::vector<Cache> l1_, scalar_, gl1_, l2_;
  Cache l3_;
  std::vector<uint64_t> channel_requests_;           // by XCC and channel
  std::unordered_map<uint64_t, uint64_t> was_read_;  // sectors, as bits, by 4 KiB
  uint64_t dirty_whole_ = 0, dirty_parts_ = 0;       // sectors in L2s: more than half written, less
  std::vector<DirtyLine> dirty_lines_;               // of kWarm; may have been written back since
};

}  // namespace wavetap::cachesim
