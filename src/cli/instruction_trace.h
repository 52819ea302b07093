#pragma once

#include <cstdint>

#include "base/gpu_addr.h"
#include "emu/memory.h"
#include "emu/watch.h"

namespace wavetap::cli {

// Prints each executed instruction with what it wrote: scalar results whole, vector results of the
// first active lanes, EXEC when it changed. Addresses are relative to `image`. For an engine with
// one thread and memory that does not vanish: it prints from inside slices.
class InstructionTrace final : public emu::Watcher {
 public:
  InstructionTrace(GpuAddr image, emu::Memory& memory, uint64_t limit)
      : image_(image), memory_(memory), limit_(limit) {}

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override {
    return {.after = true};
  }
  void after(const emu::WatchPoint& at) noexcept override;

 private:
  GpuAddr image_;
  emu::Memory& memory_;
  uint64_t limit_;
  uint64_t printed_ = 0;
  const emu::Wave* last_wave_ = nullptr;
  uint64_t last_exec_ = 0;
};

}  // namespace wavetap::cli
