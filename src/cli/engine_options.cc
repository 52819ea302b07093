#include "cli/engine_options.h"

#include "cli/install_tree.h"

namespace wavetap::cli {

void add_engine_options(Command& command, EngineOptions& options) {
  command.add_option("--seed", options.seed, "permute the order of workgroups and waves")
      ->type_name("N");
  command
      .add_option("--threads", options.threads, "host threads; 1 is deterministic; 0: one per core")
      ->type_name("N")
      ->between(0, 1024);
  command.add_option("--watchdog", options.watchdog, "fault a wave after N instructions; 0: never")
      ->type_name("N");
  command
      .add_option("--jit", options.jit,
                  "on: compile hot code for this machine; verify: do, and compare every block with "
                  "the interpreter; off (default): interpret all")
      ->type_name("MODE")
      ->choices({"off", "on", "verify"});
}

uint32_t thread_count(const EngineOptions& options) {
  return options.jit == "verify" ? 1 : options.threads;
}

Result<std::unique_ptr<jit::Compiler>> make_compiler(const EngineOptions& options) {
  Result<std::string> library = library_for_jit(options.jit);
  if (!library.ok()) return library.error();
  std::unique_ptr<jit::Compiler> compiler;
  if (!library->empty())
    compiler = std::make_unique<jit::Compiler>(
        jit::Options{*library, options.jit == "verify", jit_cache_folder(options.jit)});
  return compiler;
}

}  // namespace wavetap::cli
