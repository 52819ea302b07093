// The HIP hooks as the other files of this folder see them.
#pragma once

#include <atomic>

#include "agent/recording.h"

namespace wavetap::agent {

// Set by our constructor: resolvers may call functions from now on.
extern std::atomic<bool> g_library_is_ready WT_HIDDEN;

// Libraries came or went: forget every real function.
void forget_hip_functions();

}  // namespace wavetap::agent
