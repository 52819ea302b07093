// Memory of a captured dispatch that lies elsewhere in a replay, because its place is taken.
//
// Nobody can tell a pointer from a number that looks like one. Aligned words of 8 bytes that the kernel
// reads and whose value lies in memory that was moved are taken for pointers and changed; a replay with
// such memory is never exact and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/capture_file.h"

namespace wavetap::replay {

class Relocation {
 public:
  // What was captured at [from, +size_bytes) of the region lies at `to`.
  void move(const CapturedRegion& region, uint64_t from, uint64_t size_bytes, uint64_t to);
  bool empty() const { return moved_.empty(); }
  size_t regions() const { return moved_.size(); }

  // Where the captured address is now.
  uint64_t to_new(uint64_t address) const;
  // Changes words of memory that was captured at `address`; how many. `touched`: only those that were
  // read by the kernel; null: all.
  uint64_t change(uint64_t address, std::span<std::byte> bytes,
                  const std::vector<format::CaptureTouchedPage>* touched) const;
  // Words that point to where memory lies now point to where it was captured.
  void change_back(uint64_t address, std::span<std::byte> bytes) const;

 private:
  struct Moved {
    uint64_t begin = 0, end = 0;            // the region, as captured
    uint64_t part_begin = 0, part_end = 0;  // what of it is there
    uint64_t delta = 0;
  };
  std::vector<Moved> moved_;
};

}  // namespace wavetap::replay
