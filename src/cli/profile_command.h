// The commands below `wavetap profile`.
#pragma once

#include "cli/command.h"

namespace wavetap::cli {

// `chosen` is set when it ran: the outer command's function is called as well.
void add_profile_diff(Command& profile, Invocation& invocation, bool& chosen);

}  // namespace wavetap::cli
