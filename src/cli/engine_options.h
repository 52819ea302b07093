// How the engine runs a dispatch, for commands that run one without a driver.
#pragma once

#include <cstdint>

#include "cli/command.h"

namespace wavetap::cli {

struct EngineOptions {
  uint64_t seed = 0;
  uint32_t threads = 0;
  uint64_t watchdog = 0;  // instructions of a wave
};

// --seed, --threads and --watchdog.
void add_engine_options(Command& command, EngineOptions& options);

}  // namespace wavetap::cli
