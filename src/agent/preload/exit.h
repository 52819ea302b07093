#pragma once

namespace wavetap::agent {

// Looks up what the hooks on _exit() and its relatives lead to: those may be called where looking
// is not safe.
void find_exit_functions();

}  // namespace wavetap::agent
