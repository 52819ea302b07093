// From what programs wrote while they ran to one small file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::replay {

struct PackResult {
  uint32_t captures = 0;  // that can be replayed
  uint32_t partial = 0;  // begun, without a whole state before the dispatch: left out of `captures`
  uint64_t raw_bytes = 0;  // read
  uint64_t file_bytes = 0;
  std::vector<std::string> problems;  // files that end early, and why
};

// Puts the captures of `inputs` into `output`, compressed, numbered from 1 in this order. What there
// was is replaced at once. Inputs that end early are used as far as they reach.
Result<PackResult> pack_captures(std::span<const std::string> inputs, const std::string& output);

}  // namespace wavetap::replay
