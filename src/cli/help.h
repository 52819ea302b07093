#pragma once

#include <string>

#include "cli/described_command.h"

namespace wavetap::cli {

// What --help prints, in 80 columns: usage, description, arguments, commands, options, examples.
std::string help_text(const DescribedCommand& command);

// What `wavetap` without arguments prints: what this is, and what to try first.
std::string welcome_text();

// What `wavetap --version` prints.
std::string version_text();

}  // namespace wavetap::cli
