// What a candidate may not do that the original does not: look at the clock or the hardware's state, call
// the host, stop. With these a kernel could tell a test from a run, and they have no place in arithmetic.
#pragma once

#include <string>

#include "proof/trial.h"

namespace wavetap::proof {

// "" or which instruction is new and forbidden. Options as for a trial.
std::string find_forbidden(const TrialOptions& options);

}  // namespace wavetap::proof
