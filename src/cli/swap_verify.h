// Runs captured dispatches twice, as they are and with the kernel that --swap would take, and compares
// what the two leave in memory, and how long they take.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "swap/table.h"

namespace wavetap::cli {

struct SwapVerifyOptions {
  std::string source;                 // folder, file or manifest
  std::vector<std::string> captures;  // FILE.wtcap
  std::string tolerance;
  uint32_t iterations = 1;
};

struct SwapVerification {
  std::string text;  // lines
  std::string json;  // a document
  // kDone: every dispatch with a replacement was compared and none differs; kMismatch: one does;
  // kIncomplete: some were not compared. Others: it could not be done, and that was said.
  int exit_code = 0;
};
SwapVerification verify_swaps(const SwapVerifyOptions& options);

// A POSIX extended regular expression for the demangled names of kernels that the table may replace; ""
// when there are too many to list, so that all have to be looked at.
std::string pattern_of(const swap::Table& table);

}  // namespace wavetap::cli
