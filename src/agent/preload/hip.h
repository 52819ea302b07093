// The HIP hooks as the other files of this folder see them.
#pragma once

#include <cstdint>

#include "agent/real_functions.h"

namespace wavetap::agent {

inline constexpr uint32_t kNoHipFunction = UINT32_MAX;

// Index in the table of a symbol we export; kNoHipFunction when it is none of ours.
uint32_t hip_index(const char* symbol);
const char* hip_symbol(uint32_t index);
Provider hip_provider(uint32_t index);
// Our function.
void* hip_wrapper(uint32_t index);

// Our function for the real one at `function`, looked up as `symbol`; `function` itself when a call of our function
// by `caller` would not lead back to it.
void* hip_wrapper_for(const char* symbol, void* function, const void* caller);

// Libraries came or went: forget every real function.
void forget_hip_functions();

}  // namespace wavetap::agent
