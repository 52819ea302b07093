#include "vgpu/queue_engine.h"

#include "vgpu/gpu.h"

namespace wavetap::vgpu {

emu::DispatchResult run_on_engine(void*, Gpu& gpu, const emu::Dispatch& dispatch) {
  return gpu.engine->run(dispatch);
}

void invalidate_engine_code(void*, Gpu& gpu, GpuAddr begin, uint64_t size_bytes) {
  gpu.engine->invalidate_code(begin, size_bytes);
}

}  // namespace wavetap::vgpu
