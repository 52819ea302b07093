// Stacks of the program's threads, by frame pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/call.h"

namespace wavetap::record {

// Appends a StackRecord for `call`: `caller` is its return address, `frame` the frame of the hook
// that was called. Only memory inside the thread's own stack is read; where code without frame
// pointers breaks the chain, it ends.
void write_stack(const OpenCall& call, const void* caller, const void* frame);

// The same, as return addresses from the innermost on. How many there are.
uint32_t walk_stack(const void* caller, const void* frame, uint64_t* addresses, uint32_t most);

// From enter_from() until leave_from(), if it said true, this thread is in a hooked call from there. Calls inside the
// outermost one do not count. One that was left by a jump is noticed by the next one, which lies further out.
inline bool enter_from(const void* caller, const void* frame) {
  if (t_thread.frame != nullptr && frame < t_thread.frame) return false;
  t_thread.caller = caller;
  t_thread.frame = frame;
  return true;
}
inline void leave_from() { t_thread.frame = nullptr; }

}  // namespace wavetap::record
