// The threads of the recorder. helper.cc says what each does and why there are two.
#pragma once

#include <cstdint>

namespace wavetap::record {

// Starts them when they do not run in this process yet.
void start_helper();
// Ends them and waits until they are gone. For tests: a program's recorder ends with the program.
void stop_helper();

// The program is about to end, or to become another: collects the GPU times of what has finished
// (g_harvest) and writes pending facts on the helper thread, and waits for that, but not longer than
// `patience_ns`. Safe in a signal handler.
void settle_on_helper(int64_t patience_ns);

// Work the helper thread does on its rounds (it sleeps when nobody needs it). `poll` returns true
// when it wants to be called again soon. Registered once at start-up, never removed.
void add_helper_work(bool (*poll)());
void wake_helper();

}  // namespace wavetap::record
