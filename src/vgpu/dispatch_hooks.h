// Which hooks a run has: a table of contents. A new one is a file of its own and a line in
// dispatch_hooks.cc.
#pragma once

#include <span>
#include <vector>

#include "vgpu/allocation_table.h"
#include "vgpu/config.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

// What hooks are made from. Everything outlives them.
struct HookContext {
  const Config& config;
  AllocationTable& allocations;  // what is at which address, now
  std::span<Gpu* const> gpus = {};
};

// The hooks that the run's configuration asks for, outermost first. They are never destroyed.
std::vector<DispatchHook*> make_dispatch_hooks(const HookContext& context);

}  // namespace wavetap::vgpu
