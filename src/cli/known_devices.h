#pragma once

#include <vector>

#include "doctor/machine.h"

namespace wavetap::cli {

// The doctor's device database: the installed models, less those that misbehave on purpose.
std::vector<doctor::KnownDevice> known_devices();

}  // namespace wavetap::cli
