// Which row of one table belongs to which of another. One element per row of the table asked about.
#pragma once

#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::analysis {

// Row of Apis that launched each op, or kNoRow.
std::vector<uint32_t> call_of_op(const store::Trace& trace);
// Index into Trace::launches of each call, or kNoRow.
std::vector<uint32_t> launch_of_call(const store::Trace& trace);
// Index into Trace::copies of each call, or kNoRow.
std::vector<uint32_t> copy_of_call(const store::Trace& trace);

}  // namespace wavetap::analysis
