// The wavetap program: every command with its options.
#pragma once

#include <memory>

#include "cli/command.h"

namespace wavetap::cli {

// `invocation` must live as long as the result.
std::unique_ptr<Command> make_program(Invocation& invocation);

}  // namespace wavetap::cli
