// Cutting a trace down to a part of it, leaving nothing that belongs to nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/trace.h"

namespace wavetap::store {

struct TrimOptions {
  // Calls that start within [begin, end] stay, with their ops; ops without a call by their own
  // start.
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  // Non-empty: only calls inside a marker whose text matches (regular expression, searched).
  std::string marker;
  // Non-empty: only ops whose name matches, and the calls that launched them.
  std::string kernel;
  // Called now and then with the share done, 0..1.
  std::function<void(double)> progress = nullptr;
};

// What trim_trace() wants of a trace.
inline LoadOptions trim_load_options(const TrimOptions& options) {
  LoadOptions load;
  load.domains = load.copies_and_launches = load.monitors = load.counters = false;
  load.args = !options.marker.empty();
  return load;
}

struct TrimResult {
  uint64_t calls_before = 0, calls_after = 0, ops_before = 0, ops_after = 0;
  std::vector<std::string> left_out;  // tables of kinds that cannot be carried over
};

// Writes the part of the file `trace` was loaded from to the new file `output`; the input is not
// touched. Tables keep their columns; rows that hang on calls or ops (column_meaning.h) go with
// them. Derived ext_* tables are dropped: they described the whole.
Result<TrimResult> trim_trace(const Trace& trace, const std::string& output,
                              const TrimOptions& options);

}  // namespace wavetap::store
