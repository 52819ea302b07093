#include "vgpu/kernel_cache.h"

#include <cstring>

#include "vgpu/gpu.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {

std::shared_ptr<const KnownKernel> KernelCache::of(const DispatchView& view) {
  const GpuAddr kernel_object = view.dispatch.kernel_object;
  amd::KernelDescriptor descriptor{};
  if (!view.memory.read(kernel_object, &descriptor, sizeof descriptor)) return nullptr;
  const std::pair<uint32_t, uint64_t> key(view.gpu.index, kernel_object.value);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() &&
        std::memcmp(&found->second->descriptor, &descriptor, sizeof descriptor) == 0) {
      return found->second;
    }
  }
  auto kernel = std::make_shared<KnownKernel>();
  kernel->descriptor = descriptor;
  const KernelPlace place = find_kernel(view.gpu, view.memory, kernel_object, {});
  kernel->built_in = !place.found;
  kernel->library = place.library;
  kernel->name = place.found ? place.name : "(built into the runtime)";
  if (choose_) kernel->chosen = choose_(*kernel);
  const std::lock_guard lock(mutex_);
  return known_[key] = std::move(kernel);
}

}  // namespace wavetap::vgpu
