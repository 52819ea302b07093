// Which hooks a run has: a table of contents. A new one is a file of its own and a line in
// dispatch_hooks.cc.
#pragma once

#include <vector>

#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

// The hooks that the run's configuration asks for, outermost first. They are never destroyed.
std::vector<DispatchHook*> make_dispatch_hooks(const Config& config);

}  // namespace wavetap::vgpu
