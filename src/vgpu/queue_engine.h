// The default hooks of a QueueTable: dispatches go to the engine of their GPU.
#pragma once

#include "emu/engine.h"

namespace wavetap::vgpu {

struct Gpu;

emu::DispatchResult run_on_engine(void* context, Gpu& gpu, const emu::Dispatch& dispatch);
void invalidate_engine_code(void* context, Gpu& gpu, GpuAddr begin, uint64_t size_bytes);

}  // namespace wavetap::vgpu
