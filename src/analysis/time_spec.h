// Points in time as a user writes them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"

namespace wavetap::analysis {

inline constexpr const char* kTimeSpecHelp =
    "a time: 25% of the trace, 1.5s/200ms/30us/10ns after its start, -1s before its end, or "
    "absolute nanoseconds";

// The absolute time in ns that `text` means for a trace that covers `span`.
Result<int64_t> parse_time(const std::string& text, const Span& span);

struct Window {
  int64_t begin = std::numeric_limits<int64_t>::min();
  int64_t end = std::numeric_limits<int64_t>::max();
  bool holds(int64_t time) const { return time >= begin && time <= end; }
};

// What `--start` and `--end` choose, both ends included; an empty text leaves that side open. An end
// before the start is an error.
Result<Window> parse_window(const std::string& start, const std::string& end, const Span& span);

}  // namespace wavetap::analysis
