// Shell completion, made from what the commands declare.
#pragma once

#include <string>
#include <vector>

#include "cli/described_command.h"

namespace wavetap::cli {

// bash, zsh, fish.
const std::vector<std::string>& completion_shells();

// The script for one of completion_shells().
std::string completion_script(const DescribedCommand& program, const std::string& shell);

}  // namespace wavetap::cli
