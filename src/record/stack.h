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

// While it lives, this thread is in a hooked call from there. Calls inside the outermost one do not
// count. One that was left by a jump is noticed by the next one, which lies further out.
class CalledFrom {
 public:
  CalledFrom(const void* caller, const void* frame)
      : is_outermost_(t_thread.frame == nullptr || frame >= t_thread.frame) {
    if (!is_outermost_) return;
    t_thread.caller = caller;
    t_thread.frame = frame;
  }
  ~CalledFrom() {
    if (is_outermost_) t_thread.frame = nullptr;
  }
  CalledFrom(const CalledFrom&) = delete;
  CalledFrom& operator=(const CalledFrom&) = delete;

 private:
  const bool is_outermost_;
};

}  // namespace wavetap::record
