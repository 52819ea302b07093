// How each instruction counts; counters.inc lists the counters.
#pragma once

#include <cstdint>

#include "emu/exec.h"
#include "isa/inst.h"

namespace wavetap::emu {

// What an instruction adds when it is issued. Memory accesses add more: count_access.h.
struct StepCount {
  enum Class : uint8_t {
    kNothing,  // the second half of a VOPD pair
    kSalu,
    kSmem,
    kValu,
    kMatrix,
    kVmemLoad,
    kVmemStore,
    kVmemAtomic,
    kLds,
    kBranch,
    kBarrier,
    kMessage,
    kWait,
    kOther,
  };
  Class type = kOther;
  uint8_t flops_f16 = 0;  // vector ALU, per lane
  uint8_t flops_f32 = 0;
  uint8_t flops_f64 = 0;
  uint16_t cycles = 1;  // of the issue model
  uint32_t flops = 0;   // matrix instructions, whole wave
};

// A VOPD pair counts as its first half; the second half stands behind it.
StepCount classify(const isa::Inst& inst, Shape shape);

}  // namespace wavetap::emu
