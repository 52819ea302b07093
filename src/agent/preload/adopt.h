#pragma once

namespace wavetap::agent {

// Where the program has opened this library itself: callers that were bound before it came are bound
// to it now. Once; does nothing in a program that had the library from its beginning.
void adopt_early_callers();

}  // namespace wavetap::agent
