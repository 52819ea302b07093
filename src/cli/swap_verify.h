// Runs captured dispatches twice, as they are and with the kernel that --swap would take, and compares
// what the two leave in memory, and how long they take.
#pragma once

#include <string>

#include "base/result.h"

namespace wavetap::cli {

struct SwapVerifyOptions {
  std::string source;    // folder, file or manifest
  std::string captures;  // FILE.wtcap
  std::string tolerance;
  uint32_t iterations = 1;
  bool json = false;
};

// Prints what it finds. kDone: every dispatch with a replacement was compared and none differs.
int verify_swaps(const SwapVerifyOptions& options);

}  // namespace wavetap::cli
