// wavetap trace-instructions: every instruction of chosen waves, and what they waited for.
#include <memory>

#include "cli/command.h"
#include "cli/trace_instructions.h"

namespace wavetap::cli {
namespace {

struct TraceInstructionsOptions {
  InstructionTraceOptions tracing;
  std::string file;
};

void add_options(Command& command, TraceInstructionsOptions& options) {
  InstructionTraceOptions& tracing = options.tracing;
  command.add_option(
      "FILE", options.file,
      "instead of a program: a capture; or what rocprofv3 --att or this command wrote: a "
      "folder ui_output_…, or FILE.att of gfx9");
  command
      .add_option(
          "--gpu", tracing.run.gpus,
          "virtual GPU to run the program on (rx6800xt); for a capture: the GPU to time it as")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  command
      .add_option(
          "--kernel,-k", tracing.kernels,
          "trace kernels whose name has this in it, a POSIX extended regular expression (any "
          "kernel of the program)")
      ->type_name("REGEX");
  command
      .add_option("--launch", tracing.launches,
                  "which launches of those kernels, counted from 1 in each process (the first)")
      ->type_name("N[,N-M…]");
  command
      .add_option(
          "--output,-o", tracing.output,
          "write there, for each dispatch: ui_output_agent_1_dispatch_N, which AMD's viewer "
          "opens, stats_….csv beside it, the report as JSON and HTML, and for gfx9 the raw trace "
          "N_shader_engine_S.att")
      ->type_name("DIR");
  command
      .add_option("--cu", tracing.cu,
                  "compute unit of each chosen shader engine, on RDNA the work-group processor (0)")
      ->type_name("N|all");
  command.add_option("--se", tracing.engines, "shader engines, one bit each (0x1)")
      ->type_name("MASK|all");
  command.add_option("--simd", tracing.simds, "SIMDs of the unit, one bit each (0xf)")
      ->type_name("MASK|all");
  command
      .add_option("--limit", tracing.limit,
                  "keep this many instructions; what is beyond is counted (2000000)")
      ->type_name("N")
      ->between(1, 1e9);
  command.add_option("--top", tracing.top, "rows per table (10)")->type_name("N");
  command.add_flag("--json", tracing.json, "print the report as JSON");
}

}  // namespace

void add_trace_instructions(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<TraceInstructionsOptions>();
  Command& command = parent.add_command(
      "trace-instructions", "every instruction of chosen waves, its time and what waits wait for",
      "trace-instructions [OPTIONS] -- CMD [ARG…] | FILE.wtcap | DIR | FILE.att",
      "  wavetap trace-instructions --gpu mi210 -k gemm -o out -- ./my_hip_program\n"
      "  wavetap trace-instructions gemm.wtcap --cu all --se all\n"
      "  wavetap trace-instructions out/ui_output_agent_1_dispatch_1\n");
  add_options(command, *options);
  command.callback([options, &invocation] {
    const std::vector<std::string>& program = invocation.program;
    if (options->file.empty() == program.empty()) {
      invocation.exit_code = fail(
          options->file.empty()
              ? errorf("trace-instructions: nothing to trace; write wavetap trace-instructions "
                       "[OPTIONS] -- CMD [ARG…], or name a file")
              : errorf("trace-instructions: %s and a program behind --: trace one of them",
                       options->file.c_str()));
      return;
    }
    invocation.exit_code = program.empty()
                               ? trace_file_instructions(options->tracing, options->file)
                               : trace_program_instructions(options->tracing, program);
  });
}

}  // namespace wavetap::cli
