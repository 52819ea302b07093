// Traces of instructions, for `wavetap trace-instructions` and `wavetap profile --instructions`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/program_run.h"

namespace wavetap::cli {

struct InstructionTraceOptions {
  RunOptions run;  // of a program
  std::string kernels;
  std::string launches;
  std::string output;  // folder; "": only the report
  std::string cu = "0";
  std::string engines = "0x1";
  std::string simds = "0xf";
  uint64_t limit = 2'000'000;
  uint64_t top = 10;
  bool json = false;
};

int trace_program_instructions(InstructionTraceOptions& options,
                               const std::vector<std::string>& program);
// A capture, or a trace that was written before.
int trace_file_instructions(const InstructionTraceOptions& options, const std::string& path);

void add_trace_instructions(Command& parent, Invocation& invocation);  // cmd_trace_instructions.cc

}  // namespace wavetap::cli
