// What the commands share: how they are declared, how they report, where the installed files are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::cli {

enum ExitCode : int { kDone = 0, kUsage = 1, kIncomplete = 2, kBug = 3 };

// One invocation of the program. The command that was asked for leaves its exit code here.
struct Invocation {
  bool has_separator = false;        // there was a `--`
  std::vector<std::string> program;  // what follows it
  int exit_code = kDone;
};

// Prints `wavetap: error: …` and returns kUsage, so that a command can `return fail(error)`.
int fail(const Error& error, int exit_code = kUsage);
void warn(const Error& warning);

// Declares a command. `usage` is what follows "Usage: wavetap "; `examples` is printed as it is.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& summary,
                      const std::string& usage, const std::string& examples);

// The commands, one file each: cmd_run.cc, cmd_gpu_list.cc, …
void add_run(CLI::App& parent, Invocation& invocation);
void add_import(CLI::App& parent, Invocation& invocation);
void add_control(CLI::App& parent, Invocation& invocation);  // start, stop, flush, status
void add_tail(CLI::App& parent, Invocation& invocation);
void add_top(CLI::App& parent, Invocation& invocation);
void add_report(CLI::App& parent, Invocation& invocation);
void add_analyze(CLI::App& parent, Invocation& invocation);
void add_export(CLI::App& parent, Invocation& invocation);
void add_query(CLI::App& parent, Invocation& invocation);
void add_check(CLI::App& parent, Invocation& invocation);
void add_trim(CLI::App& parent, Invocation& invocation);
void add_merge(CLI::App& parent, Invocation& invocation);
void add_diff(CLI::App& parent, Invocation& invocation);
void add_doctor(CLI::App& parent, Invocation& invocation);
void add_device(CLI::App& parent, Invocation& invocation);
void add_gpu_list(CLI::App& parent, Invocation& invocation);
void add_gpu_show(CLI::App& parent, Invocation& invocation);
void add_gpu_coverage(CLI::App& parent, Invocation& invocation);
void add_gpu_disasm(CLI::App& parent, Invocation& invocation);
void add_gpu_exec(CLI::App& parent, Invocation& invocation);
void add_help(CLI::App& parent, Invocation& invocation);
void add_completion(CLI::App& parent, Invocation& invocation);

}  // namespace wavetap::cli
