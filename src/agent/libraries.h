// Which libraries the process has loaded, and which of them really answers for an API.
#pragma once

namespace wavetap::agent {

// Writes a LibraryFact (and, with --stacks, an ImageFact) for every library that came or went since
// the last time; the first time in a session for all of them. Cheap when nothing has changed.
// Thread-safe.
void write_library_changes();

// The same as work of the helper thread.
bool poll_libraries();

// A new session knows nothing yet.
void forget_libraries();

}  // namespace wavetap::agent
