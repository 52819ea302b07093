// Cutting a trace down to a part of it, leaving nothing that belongs to nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/result.h"

namespace wavetap::store {

struct TrimOptions {
  // Calls that start within [begin, end] stay, with their ops; ops without a call by their own start.
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  // Non-empty: only calls inside a marker whose text matches (regular expression, searched).
  std::string marker;
  // Non-empty: only ops whose name matches, and the calls that launched them.
  std::string kernel;
};

struct TrimResult {
  uint64_t calls_before = 0, calls_after = 0, ops_before = 0, ops_after = 0;
};

// Writes the part of `input` to the new file `output`; `input` is not touched. Derived ext_* tables are
// dropped: they described the whole.
Result<TrimResult> trim_trace(const std::string& input, const std::string& output,
                              const TrimOptions& options);

}  // namespace wavetap::store
