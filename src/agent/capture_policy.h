// Freezes chosen dispatches on a real GPU: everything that is known to be in the GPU's reach, written to a
// file before the kernel runs, and what it changed afterwards. A file in the program's environment asks for
// it (format/capture_request.h); the file it writes: format/capture.h.
//
// The dispatch runs alone (dispatch_policy.h), so what memory holds is in order. Where that cannot be had,
// the state before it is written all the same and marked as unordered, and there is none after it.
#pragma once

namespace wavetap::agent {

// Registers the policy if captures are this library's business. When the GPU runtime is being loaded,
// before its hooks are installed, each time.
void start_capture();
// The runtime is going.
void forget_capture();
void unlock_capture_after_fork();

}  // namespace wavetap::agent
