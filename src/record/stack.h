// The stack of a recorded call, by frame pointers.
#pragma once

#include "record/call.h"

namespace wavetap::record {

// Appends a StackRecord for `call`: `caller` is its return address, `frame` the frame of the hook
// that was called. Only memory inside the thread's own stack is read; where code without frame
// pointers breaks the chain, it ends.
void write_stack(const OpenCall& call, const void* caller, const void* frame);

}  // namespace wavetap::record
