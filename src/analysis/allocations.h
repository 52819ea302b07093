// Memory the program asked for: allocation and free calls, paired by process and pointer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "store/trace.h"

namespace wavetap::analysis {

struct Allocation {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  uint32_t row = 0;  // the call
  int64_t pid = 0;
  uint64_t pointer = 0;
  int64_t bytes = 0;
  bool on_device = true;  // false: pinned host memory
  int64_t begin = 0;      // return of the call
  int64_t end = kNever;   // start of the free, kNever when it was not given back
};

struct Allocations {
  std::vector<Allocation> all;  // what the program asked for, by begin
  // What the runtime took for itself, or calls that were not recorded; of wavetap's own recordings.
  std::vector<Allocation> unasked;
  bool tells_unasked = false;  // the file tells them apart
  int64_t frees = 0;
  int64_t unknown_frees = 0;  // of pointers nobody was seen to allocate
  int64_t null_frees = 0;
  int64_t unreadable = 0;  // calls without pointer or size in their arguments
};

// From what the recorder followed itself or, in other files, from the calls' argument texts.
Allocations find_allocations(const store::Trace& trace);

struct Peak {
  int64_t bytes = 0;
  int64_t at = 0;
};
// The most that was held at once, and since when.
Peak peak_of(const std::vector<Allocation>& allocations, bool device_only);

}  // namespace wavetap::analysis
