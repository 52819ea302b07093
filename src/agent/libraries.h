// Which libraries the process has loaded, and which of them really answers for an API.
#pragma once

namespace wavetap::agent {

// Writes a LibraryFact (and, with --stacks, an ImageFact) for every library that came or went since
// the last time; the first time in a session for all of them. Cheap when nothing has changed.
// Thread-safe.
void write_library_changes();

// From now on, whenever a session opens, on the helper thread's rounds, at flush and at the end.
void watch_libraries();

}  // namespace wavetap::agent
