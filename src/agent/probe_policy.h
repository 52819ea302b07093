// Kernels that tell what they do: a dispatch of a kernel that the compiler pass has given a twin runs as that twin,
// which writes records into a ring (format/probe_ring.h). A file in the program's environment asks for it.
//
// Twins are looked for when an executable is frozen: they lie in the same code object, so that both see
// the same variables. The helper thread empties the rings into a file, which `wavetap probe` reads when
// the program has ended; no analysis runs in the program.
#pragma once

namespace wavetap::agent {

// Reads what kProbeVariable names and registers the policy. Nothing without it. When the GPU runtime is
// being loaded, each time.
void start_probes();
bool has_probes();
// Takes records out of the rings. True: dispatches are under way. `faulted`: what is under way will not
// end any more.
bool drain_probes(bool faulted = false);
// The runtime is going.
void forget_probes();
void unlock_probes_after_fork();

}  // namespace wavetap::agent
