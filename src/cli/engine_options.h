// How the engine runs a dispatch, for commands that run one without a driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "jit/compiler.h"

namespace wavetap::cli {

struct EngineOptions {
  uint64_t seed = 0;
  uint32_t threads = 0;
  uint64_t watchdog = 0;  // instructions of a wave
  std::string jit = "off";
};

// --seed, --threads, --watchdog and --jit.
void add_engine_options(Command& command, EngineOptions& options);

// Host threads: as asked, but one where blocks are done twice, as others would change what is read.
uint32_t thread_count(const EngineOptions& options);

// What --jit asks for; null: everything is interpreted.
Result<std::unique_ptr<jit::Compiler>> make_compiler(const EngineOptions& options);

}  // namespace wavetap::cli
