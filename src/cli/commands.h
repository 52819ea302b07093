// The wavetap program as CLI11 sees it: every command with its options.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"

namespace wavetap::cli {

// `invocation` must live as long as the result.
std::unique_ptr<CLI::App> make_app(Invocation& invocation);

// What `wavetap --version` prints, without the last line break.
std::string version_text();

}  // namespace wavetap::cli
