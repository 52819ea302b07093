// The recorder of this process: when the session opens, what happens in children, start and stop, and
// the end. What is registered here is called at those moments; nothing is ever taken out again.
#pragma once

#include <cstdint>

#include "record/state.h"

namespace wavetap::record {

// True in a second copy of this library in one process: it must leave everything alone.
bool is_passive();

// One reference count for the socket, the C API and Python: recording is on while it is above 0.
// Each returns the count afterwards; stopping at 0 stays at 0. `by_pid`: who asked.
uint32_t start_recording(uint32_t by_pid);
uint32_t stop_recording(uint32_t by_pid);
void flush_recording(uint32_t by_pid);

// Hooks see every call from now on, recorded or not, for somebody who needs to know of them.
void watch_calls();

// format::kOption* that the session was asked for.
uint32_t session_options();
// The program has opened this library itself, after it had begun. Known once the process is started.
bool came_late();

// The program is about to end: last clock sample, losses, GPU times; nothing is closed, calls may
// still come.
void finish_process();

// `forget` is called in a child of fork(): what was known of the parent's session counts no more.
void add_forgetter(void (*forget)());
// `write` is called before the session's last facts are written, at flush and at the end.
void add_last_words(void (*write)());

// Forgets the session without touching its files, as a child of fork() does. For tests.
void forget_session();

}  // namespace wavetap::record
