// The commands that look for better kernels, in cmd_tune.cc, cmd_optimize.cc and
// cmd_optimize_report.cc; and the server by which a program drives them, cmd_mcp.cc.
#pragma once

#include "cli/command.h"

namespace wavetap::cli {

void add_tune(Command& parent, Invocation& invocation);
void add_mcp(Command& parent, Invocation& invocation);
void add_optimize(Command& parent, Invocation& invocation);
// Below optimize; `chosen` is set when one of them ran.
void add_optimize_report(Command& parent, Invocation& invocation, bool& chosen);
void add_optimize_gate(Command& parent, Invocation& invocation, bool& chosen);

}  // namespace wavetap::cli
