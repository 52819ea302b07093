// Which kernel is this? ROCr copies a code object's segments into GPU memory and keeps no link back that
// a driver could see. At fault time, and only then, the fat binaries the process has loaded are searched
// for the code object whose kernel descriptor and first instructions are the bytes at `kernel_object`.
#pragma once

#include <string>

#include "base/gpu_addr.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {

struct Gpu;

struct KernelPlace {
  bool found = false;
  std::string name;         // demangled when possible
  std::string source_line;  // "file:line" of the pc, when the code object carries debug information
  bool has_entry = false;
  GpuAddr entry;            // the kernel's first instruction
};

KernelPlace find_kernel(Gpu& gpu, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc);

}  // namespace wavetap::vgpu
