#include "vgpu/queue_engine.h"

#include <chrono>
#include <thread>

#include "vgpu/gpu.h"

namespace wavetap::vgpu {

emu::DispatchResult run_on_engine(void*, Gpu& gpu, const emu::Dispatch& dispatch) {
  if (gpu.hangs) {
    while (!dispatch.cancelled->load(std::memory_order_relaxed))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return {};
  }
  return gpu.engine->run(dispatch);
}

void invalidate_engine_code(void*, Gpu& gpu, GpuAddr begin, uint64_t size_bytes) {
  gpu.engine->invalidate_code(begin, size_bytes);
}

}  // namespace wavetap::vgpu
