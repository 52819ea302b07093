// Points in time as a user writes them.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"

namespace wavetap::analysis {

inline constexpr const char* kTimeSpecHelp =
    "a time: 25% of the trace, 1.5s/200ms/30us/10ns after its start, -1s before its end, or "
    "absolute "
    "nanoseconds";

// The absolute time in ns that `text` means for a trace that covers `span`.
Result<int64_t> parse_time(const std::string& text, const Span& span);

}  // namespace wavetap::analysis
