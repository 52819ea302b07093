#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "codeobj/code_object.h"

namespace wavetap::replay {

// The shape of one dispatch, and where the things hidden arguments point at are.
struct DispatchShape {
  uint32_t workgroups[3] = {1, 1, 1};
  uint32_t workgroup_size[3] = {1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  GpuAddr queue;

  uint32_t grid_size(int axis) const { return workgroups[axis] * workgroup_size[axis]; }
};

// Fills the kernarg segment: the visible arguments from `values` (one per argument, in order,
// already bytes), the hidden ones from the shape, as code object versions 3 to 5 define them.
// Hidden arguments that need a runtime (printf buffer, host calls, device heap) are null: a kernel
// that uses them faults.
Status fill_kernarg(const codeobj::Kernel& kernel, std::span<const std::vector<std::byte>> values,
                    const DispatchShape& shape, std::span<std::byte> kernarg);

// The visible arguments as a list for messages: "global_buffer 8 bytes, by_value 4 bytes".
std::string describe_arguments(const codeobj::Kernel& kernel);
size_t visible_argument_count(const codeobj::Kernel& kernel);

}  // namespace wavetap::replay
