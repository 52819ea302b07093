// The commands that look for better kernels, each in a file of its own: cmd_tune.cc, cmd_optimize.cc.
#pragma once

#include "cli/command.h"

namespace wavetap::cli {

void add_tune(Command& parent, Invocation& invocation);
void add_optimize(Command& parent, Invocation& invocation);  // and optimize report, optimize gate

}  // namespace wavetap::cli
