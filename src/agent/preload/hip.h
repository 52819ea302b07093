// The HIP hooks as the other files of this folder see them.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/real_functions.h"
#include "agent/recording.h"

namespace wavetap::agent {

inline constexpr uint32_t kNoHipFunction = UINT32_MAX;

// Index in the table of a symbol we export; kNoHipFunction when it is none of ours.
uint32_t hip_index(const char* symbol);
const char* hip_symbol(uint32_t index);
Provider hip_provider(uint32_t index);
// A function of ours that leads to the real one at `function`, whoever calls it; `function` itself
// when that is not the function `symbol` of a library we stand in front of.
void* hip_wrapper_for(const char* symbol, void* function);

// Set by our constructor: resolvers may call functions from now on.
extern std::atomic<bool> g_library_is_ready WT_HIDDEN;

// Libraries came or went: forget every real function.
void forget_hip_functions();
void forget_hip_copies();

}  // namespace wavetap::agent
