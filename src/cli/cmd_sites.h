#pragma once

#include "cli/command.h"

namespace wavetap::cli {

void add_sites(Command& parent, Invocation& invocation);

}  // namespace wavetap::cli
