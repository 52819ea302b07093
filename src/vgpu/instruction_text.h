// What stands at an address of a dispatch's code, for reports.
#pragma once

#include <string>

#include "base/gpu_addr.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

// The instruction at `pc`; "" when it cannot be read. It may be the last one mapped.
std::string instruction_at(const DispatchView& view, GpuAddr pc);

}  // namespace wavetap::vgpu
