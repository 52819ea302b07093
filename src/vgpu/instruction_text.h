// What stands at an address of a dispatch's code, for reports.
#pragma once

#include <string>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "vgpu/dispatch_hook.h"

namespace wavetap::vgpu {

// The instruction of the kernel at `pc`; "" when it cannot be read. It may be the last one mapped.
std::string instruction_at(GuestMemory& memory, amd::GfxTarget target, GpuAddr kernel_object,
                           GpuAddr pc);
inline std::string instruction_at(const DispatchView& view, GpuAddr pc) {
  return instruction_at(view.memory, view.dispatch.target, view.dispatch.kernel_object, pc);
}

}  // namespace wavetap::vgpu
