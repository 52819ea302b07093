// Traps of packaged libraries that only show when a program runs: a name that is looked up and not
// there, a symbol that comes from the wrong library, sources that were left out of a build.
#pragma once

#include "doctor/finding.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

// Of the loader: libamdhip64 without its plain name, and LLVM's initialisers in another library.
void check_loader_traps(const Machine& machine, Findings& findings);

// MIOpen that offers assembler kernels and was built without their sources.
void check_miopen_sources(const Machine& machine, Findings& findings);

}  // namespace wavetap::doctor
