// A child process with a deadline, for work that may crash or hang. Its output is kept; it gets no
// terminal, and no shell is involved.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wavetap::doctor {

struct ChildOptions {
  std::vector<std::string> arguments;  // [0] is a path
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  std::chrono::milliseconds limit{10000};
};

struct ChildResult {
  int exit_status = -1;  // -1: did not exit by itself
  int signal = 0;
  bool timed_out = false;  // it was killed at the deadline
  std::string output;      // at most 64 KiB each
  std::string errors;

  bool ended_well() const { return exit_status == 0; }
};

// An error only when the child cannot be started. Everything in the child's process group is gone
// afterwards.
Result<ChildResult> run_child(const ChildOptions& options);

}  // namespace wavetap::doctor
