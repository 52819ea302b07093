// The table of contents of the wavetap program. What `wavetap help`, the manual pages and the shell
// completion say is read from what is declared here.
#include "cli/commands.h"

#include "cli/command.h"
#include "cli/help.h"

namespace wavetap::cli {
namespace {

void add_commands(CLI::App& app, Invocation& invocation) {
  add_run(app, invocation);
  add_import(app, invocation);
  add_control(app, invocation);
  add_tail(app, invocation);
  add_top(app, invocation);
  add_report(app, invocation);
  add_analyze(app, invocation);
  add_export(app, invocation);
  add_query(app, invocation);
  add_check(app, invocation);
  add_trim(app, invocation);
  add_merge(app, invocation);
  add_diff(app, invocation);
  add_doctor(app, invocation);
  add_device(app, invocation);

  CLI::App& gpu =
      add_command(app, "gpu", "virtual GPUs: list and describe them, inspect and run device code",
                  "gpu COMMAND …",
                  "  wavetap gpu list\n"
                  "  wavetap gpu coverage ./my_hip_program\n");
  gpu.require_subcommand(1);
  add_gpu_list(gpu, invocation);
  add_gpu_show(gpu, invocation);
  add_gpu_coverage(gpu, invocation);
  add_gpu_disasm(gpu, invocation);
  add_gpu_exec(gpu, invocation);

  add_help(app, invocation);
  add_completion(app, invocation);
}

}  // namespace

std::unique_ptr<CLI::App> make_app(Invocation& invocation) {
  auto app = std::make_unique<CLI::App>(
      "See, check and replay what a ROCm program does on its GPU, or give it a virtual AMD GPU to "
      "run on.",
      "wavetap");
  app->formatter(std::make_shared<HelpFormatter>("COMMAND …",
                                                 "  wavetap run --gpu rx6800xt -- rocminfo\n"
                                                 "  wavetap gpu list\n"
                                                 "  wavetap help run\n"));
  app->set_help_flag("-h,--help", "print this text");
  app->set_version_flag("--version", version_text, "print the version and what it was built with");
  app->require_subcommand(1);
  add_commands(*app, invocation);
  return app;
}

}  // namespace wavetap::cli
