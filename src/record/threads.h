// Threads coming and going: each gets a stream with its first record and leaves it when it ends.
#pragma once

#include "record/state.h"
#include "record/stream.h"

namespace wavetap::record {

Stream* attach_thread();

// This thread's stream, made on first use. Null while there is no session and inside the recorder's
// own code.
inline Stream* stream() {
  if (t_thread.inside != 0) return nullptr;
  Stream* const known = t_thread.stream;
  return known != nullptr ? known : attach_thread();
}

// The calling thread will record nothing more: leaves its stream.
void detach_thread();

// Once per program, before the first stream is made.
void prepare_threads();

}  // namespace wavetap::record
