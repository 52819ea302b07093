// Functions of ours that lead to one particular copy of a library.
#pragma once

namespace wavetap::agent {

// A function of ours that leads to the real one at `function`, whoever calls it; `function` itself
// when that is not the function `symbol` of a library we stand in front of.
void* hip_wrapper_for(const char* symbol, void* function);

// Libraries went: their functions may be others' by now.
void forget_hip_copies();

}  // namespace wavetap::agent
