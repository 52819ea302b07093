#pragma once

namespace wavetap::replay {

// Why a replay cannot be, in a way a program can act on.
enum class Refusal {
  kNone,
  kFile,      // a file of the user's cannot be read
  kNoMemory,  // the captured memory cannot be had
  kIsa,       // code for another GPU
  kNoKernel,  // the code object lacks the kernel
  kLayout,    // its arguments lie elsewhere
  kArgument,  // it needs a service that a replay does not have
};

}  // namespace wavetap::replay
