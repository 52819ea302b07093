// Work that may crash, hang or eat all memory, each piece in a process of its own.
//
// A piece is a function of this program, run in a child made by fork(): what it returns is its text,
// handed over through a pipe. The caller must have no other threads. Children and whatever they
// started die with the caller. A piece that has a limit of its own for a part of its work sets an alarm
// (setitimer): dying of it counts as a timeout.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wavetap::util {

struct IsolationLimits {
  double seconds = 0;         // 0: none
  uint64_t memory_bytes = 0;  // of address space; 0: no limit
};

enum class Ending { kDone, kCrashed, kTimedOut };

struct Isolated {
  Ending ending = Ending::kDone;
  std::string text;  // what the work returned, or how it ended: "killed by signal 11"
};

// Runs all pieces, at most `jobs` at a time. `done` is told of each in the order of the pieces, as
// soon as it and all before it have ended; when it returns false, what runs is killed, and what has not
// begun is left out. The answers so far.
std::vector<Isolated> run_isolated(const std::vector<std::function<std::string()>>& pieces,
                                   size_t jobs, const IsolationLimits& limits,
                                   const std::function<bool(size_t, const Isolated&)>& done = {});

// A command line for the shell, its standard input empty, both outputs together.
struct ShellOptions {
  std::string folder;                                            // "": this one
  std::vector<std::pair<std::string, std::string>> environment;  // added or replaced
  double seconds = 0;                                            // 0: no limit
  size_t output_bytes = 1 << 20;  // kept of the output; the end of it
  // Of the command and all that it starts. 0: no limit. Looked at now and then: RLIMIT_NPROC is the limit that
  // nothing gets past, but it is not for root.
  size_t processes = 0;
  // Runs in the child instead of the program, and does not return.
  std::function<void()> instead = {};
};
struct ShellResult {
  int status = 0;  // as a shell reports it
  bool timed_out = false;
  bool is_crowd = false;  // had more processes than it may have, and was ended
  std::string output;
};
Result<ShellResult> run_shell(const std::string& command, const ShellOptions& options);
// The same for a program and its arguments.
Result<ShellResult> run_words(const std::vector<std::string>& words, const ShellOptions& options);

}  // namespace wavetap::util
