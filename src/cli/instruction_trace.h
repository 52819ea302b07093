#pragma once

#include <cstdint>

#include "base/gpu_addr.h"
#include "emu/engine.h"

namespace wavetap::cli {

// Prints each executed instruction with what it wrote: scalar results whole, vector results of the
// first active lanes, EXEC when it changed. Addresses are relative to `image`. One worker thread.
class InstructionTrace {
 public:
  InstructionTrace(GpuAddr image, emu::Memory& memory, uint64_t limit)
      : image_(image), memory_(memory), limit_(limit) {}

  // For EngineOptions::observe, with this object as the context.
  static void observe(void* context, const emu::Wave& wave, const isa::Inst& inst, GpuAddr pc);

 private:
  void print(const emu::Wave& wave, const isa::Inst& inst, GpuAddr pc);

  GpuAddr image_;
  emu::Memory& memory_;
  uint64_t limit_;
  uint64_t printed_ = 0;
  const emu::Wave* last_wave_ = nullptr;
  uint64_t last_exec_ = 0;
};

}  // namespace wavetap::cli
