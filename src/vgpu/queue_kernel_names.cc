#include "vgpu/queue_kernel_names.h"

#include "amd/kernel_descriptor.h"

namespace wavetap::vgpu {

KernelPlace find_kernel(Gpu& gpu, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc) {
  KernelPlace place;
  amd::KernelDescriptor descriptor;
  if (memory.read(kernel_object, &descriptor, sizeof descriptor)) {
    place.entry = kernel_object + static_cast<uint64_t>(descriptor.entry_offset);
    place.has_entry = true;
  }
  return place;
}

}  // namespace wavetap::vgpu
