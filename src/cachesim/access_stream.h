// AccessStream: the memory instructions of one wave, packed, to be run through the caches later.
//
// Caches are shared by waves that run at the same time on hardware and one after the other here. So
// what each wave asks for is kept, as runs of 64-byte sectors, until as many workgroups as the GPU holds
// at once have run; memory_system.h then lets them take turns. A coalesced access takes some five bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wavetap::cachesim {

enum class Request : uint8_t {
  kLoad,
  kStore,
  kAtomic,
  kScalarLoad,
  kScalarStore,
  kInvalidateL1,
  kInvalidateGl1,
};

// Neighbouring sectors that one instruction touches.
struct SectorRun {
  uint64_t first = 0;  // address / 64
  uint32_t count = 0;
  uint32_t bytes = 0;  // touched in all of them
};

// Sectors under elements of `size_bytes` at `address[lane]`, sorted, each once. `runs` has room for
// kMaxRuns.
inline constexpr size_t kMaxRuns = 128;
size_t find_runs(const uint64_t* address, uint64_t mask, uint32_t size_bytes, SectorRun* runs);

// What the address unit of a vector L1 does with an access: 16 lanes at a time when they share 64
// bytes, else four at a time, each line of theirs apart.
struct TagWork {
  uint32_t accesses = 0;
  uint32_t tags = 0;
};
TagWork tag_work(const uint64_t* address, uint64_t mask, uint32_t size_bytes, int lanes);

// Both at once for `lanes` elements, a multiple of 16, that follow each other from `first` on
// (is_row) or are all the one there. Elements are of 16 bytes at most.
SectorRun whole_run(uint64_t first, uint32_t size_bytes, uint32_t lanes, bool is_row);
TagWork whole_tag_work(uint64_t first, uint32_t size_bytes, uint32_t lanes, bool is_row);

class AccessStream {
 public:
  struct Item {
    Request request{};
    bool bypass_l1 = false;
    bool bypass_gl1 = false;
    uint32_t site = 0;
    size_t run_count = 0;
    SectorRun runs[kMaxRuns];
  };

  // At most kMaxRuns runs.
  void add(Request request, bool bypass_l1, bool bypass_gl1, uint32_t site,
           std::span<const SectorRun> runs);
  // The next one; false at the end.
  bool next(Item& item);
  void clear() {
    size_ = at_ = 0;
    last_written_ = last_read_ = 0;
  }
  size_t size_bytes() const { return size_; }

 private:
  std::vector<uint8_t> bytes_;  // room; the first size_ are used
  size_t size_ = 0;
  size_t at_ = 0;                              // of the next one to be read
  uint64_t last_written_ = 0, last_read_ = 0;  // first sector of the run before
};

}  // namespace wavetap::cachesim
