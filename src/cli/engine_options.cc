#include "cli/engine_options.h"

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
}

}  // namespace wavetap::cli
