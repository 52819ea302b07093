// The table of contents of the wavetap program. What `wavetap help`, the manual pages and the shell
// completion say is read from what is declared here.
#include "cli/commands.h"

#include "cli/cmd_sites.h"
#include "cli/command.h"
#include "cli/lab_commands.h"
#include "cli/trace_instructions.h"

namespace wavetap::cli {
namespace {

void add_commands(Command& program, Invocation& invocation) {
  add_run(program, invocation);
  add_capture(program, invocation);
  add_replay(program, invocation);
  add_sanitize(program, invocation);
  add_probe(program, invocation);
  add_sites(program, invocation);
  add_profile(program, invocation);
  add_trace_instructions(program, invocation);
  add_swap(program, invocation);
  add_source(program, invocation);
  add_tune(program, invocation);
  add_optimize(program, invocation);
  add_mcp(program, invocation);
  add_import(program, invocation);
  add_control(program, invocation);
  add_tail(program, invocation);
  add_top(program, invocation);
  add_report(program, invocation);
  add_analyze(program, invocation);
  add_export(program, invocation);
  add_query(program, invocation);
  add_check(program, invocation);
  add_trim(program, invocation);
  add_merge(program, invocation);
  add_diff(program, invocation);
  add_doctor(program, invocation);
  add_device(program, invocation);

  Command& gpu = program.add_command(
      "gpu", "virtual GPUs: list and describe them, inspect and run device code", "gpu COMMAND …",
      "  wavetap gpu list\n"
      "  wavetap gpu coverage ./my_hip_program\n");
  gpu.require_command();
  add_gpu_list(gpu, invocation);
  add_gpu_show(gpu, invocation);
  add_gpu_coverage(gpu, invocation);
  add_gpu_disasm(gpu, invocation);
  add_gpu_exec(gpu, invocation);

  add_help(program, invocation);
  add_completion(program, invocation);
}

}  // namespace

std::unique_ptr<Command> make_program(Invocation& invocation) {
  auto program = std::make_unique<Command>(
      "See, check and replay what a ROCm program does on its GPU, or give it a virtual AMD GPU to run on.",
      "COMMAND …",
      "  wavetap run --gpu rx6800xt -- rocminfo\n"
      "  wavetap gpu list\n"
      "  wavetap help run\n");
  program->require_command();
  add_commands(*program, invocation);
  return program;
}

}  // namespace wavetap::cli
