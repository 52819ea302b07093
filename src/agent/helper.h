// The helper thread: prepares chunks, samples the clocks, answers the control socket, collects GPU times.
#pragma once

namespace wavetap::agent {

// Starts it when it does not run in this process yet.
void start_helper();

// Writes what the helper would have written by now: losses counted and a clock sample. For flush and exit.
void write_pending_facts();

// One round of everything registered with add_helper_work(). True: call again soon.
bool run_helper_work();

}  // namespace wavetap::agent
