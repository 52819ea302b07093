// Runs a program in the foreground as a shell would: same terminal, same standard streams, signals
// passed on, its exit status handed back.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wavetap::util {

struct Command {
  std::vector<std::string> arguments;                            // [0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to, or replacing, ours
  bool ends_with_us = false;   // killed when this process ends, however that happens
  bool random_layout = false;  // its libraries lie elsewhere each time, also under setarch -R
};

// What is known of a program's run besides its exit status.
struct RunDetails {
  int pid = 0;           // its number
  int64_t ended_ns = 0;  // CLOCK_MONOTONIC when it was known to have ended
  int start_errno = 0;   // why it could not be started; 0: it could
};

// What a shell exits with when a program cannot be started: 127 when there is none, else 126.
int start_failure_status(int start_errno);

// What a shell exits with after a program: its own status, or 128 + signal. `wait_status` is waitpid()'s.
int shell_status(int wait_status);

// Exit status as a shell reports it. An error when the program
// could not be started at all.
//
// While it runs, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent to this process go to
// the program (except those the terminal already sent to both) and this process waits for it to
// end, so the caller always gets to clean up. One thread; no other child may be waited for
// meanwhile.
Result<int> run_in_foreground(const Command& command, RunDetails* details = nullptr);

// Replaces this process by the program. Returns only on failure.
Error replace_process(const Command& command, int* start_errno = nullptr);

// The program's standard output, at most `limit_bytes` of it. An error when it could not be started
// or did not exit with 0.
Result<std::string> output_of(const Command& command, size_t limit_bytes = 1 << 20);

}  // namespace wavetap::util
