// run --swap-verify: the program runs with its own kernels; launches of those that --swap would replace
// are captured, and run again afterwards as they were and replaced.
#pragma once

#include <string>
#include <vector>

#include "cli/program_run.h"

namespace wavetap::cli {

struct SwapVerifyRun {
  bool wanted = false;
  std::string tolerance;
  std::string json;        // file for the results; "": none
  uint64_t launches = 16;  // that are compared, per process
};

// The program's exit status; when it is 0, what the comparison makes of it (swap_verify.h).
int run_and_verify(const RunOptions& options, const SwapVerifyRun& verify,
                   const std::vector<std::string>& program);

}  // namespace wavetap::cli
