#include "vgpu/instruction_text.h"

#include "amd/kernel_descriptor.h"
#include "isa/program.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kLongestInstruction = 20;

}  // namespace

std::string instruction_at(GuestMemory& memory, amd::GfxTarget target, GpuAddr kernel_object,
                           GpuAddr pc) {
  amd::KernelDescriptor descriptor{};
  if (!memory.read(kernel_object, &descriptor, sizeof descriptor)) return "";
  const bool wave64 = !target.has_wave32() || !descriptor.has(amd::kWavefrontSize32);
  std::byte bytes[kLongestInstruction];
  for (uint64_t size = sizeof bytes; size > 0; size -= 4)
    if (memory.read(pc, bytes, size)) return isa::disassemble({bytes, size}, target, wave64, pc);
  return "";
}

}  // namespace wavetap::vgpu
