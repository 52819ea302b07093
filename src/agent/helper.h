// The threads of the recorder. helper.cc says what each does and why there are two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/control.h"

namespace wavetap::agent {

// Starts them when they do not run in this process yet.
void start_helper();
// Ends them and waits until they are gone. For tests: a program's recorder ends with the program.
void stop_helper();

// Writes what the helper would have written by now: losses counted and a clock sample. For flush
// and exit.
void write_pending_facts();

// The program is about to end, or to become another: collects the GPU times of what has finished
// (g_harvest) and writes pending facts on the helper thread, and waits for that, but not longer than
// `patience_ns`. Safe in a signal handler.
void settle_on_helper(int64_t patience_ns);

// A chunk was found missing, or is to be unmapped.
void wake_file_thread();

// answer_request(), carried out by the helper thread whoever calls.
size_t answer_on_helper(Request request, uint32_t pid, char* out, size_t size);

}  // namespace wavetap::agent
