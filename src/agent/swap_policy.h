// The policy behind `wavetap run --swap`: kernels of the program that run as other code.
//
//   code object loaded  another one may be loaded in its place (swap_whole.h); what follows is not asked then
//   executable frozen   each of its kernels that a line of the table names is compared with the
//                       replacement (swap/legality.h), which the runtime loads into an executable of ours
//   dispatch            the kernel object is looked up; packet gets the other one, with its LDS and scratch
//   executable gone     forgotten; the replacement stays loaded for whoever loads that kernel again
//
// It works on kernel objects, so that it does not matter who loaded a kernel: the program's own binary,
// rocBLAS, hipModuleLoadData() with code that hipRTC has just made. A dispatch that is not replaced pays
// for a look into a hash table. What cannot be replaced runs as it is, and the trace says why.
#pragma once

namespace wavetap::agent {

// Reads the table that WAVETAP_SWAP names and registers the policy. Nothing without one. When the GPU
// runtime is being loaded, each time.
void start_swap();
// The runtime is gone, and what it had loaded.
void forget_swaps();
void unlock_swaps_after_fork();

}  // namespace wavetap::agent
