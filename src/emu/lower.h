// Lowering: from a decoded Program to the table the interpreter walks.
//
// One Step per instruction: the function to call and what to call it with. Everything that is known
// before running is decided here, once: which specialised handler fits the operands, and whether
// the instruction may run at all. An instruction that does not decode, has no semantics, or names a
// register the wave does not have gets a handler that raises the fault, so the loop and the
// handlers need no checks. One extra Step at the end catches a wave that runs off the Program.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emu/exec.h"
#include "isa/program.h"

namespace wavetap::emu {

struct Step {
  Handler run = nullptr;
  const isa::Inst* inst = nullptr;
};

// How an instruction counts; see counters.inc and count.cc.
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
  enum Precision : uint8_t { kNone, kF16, kF32, kF64 };
  Class type = kOther;
  Precision precision = kNone;
  uint16_t flops_per_lane = 0;  // vector ALU
  uint32_t flops = 0;           // matrix instructions, whole wave
  uint16_t cycles = 1;          // of the issue model
};

// How many registers the waves have that will run the code.
struct RegisterLimits {
  uint32_t vgprs = 256;
  uint32_t agprs = 0;

  bool operator==(const RegisterLimits&) const = default;
};

// What lowered code depends on besides the instructions: another one is another variant.
struct Lowering {
  RegisterLimits registers;
  bool sram_ecc = false;  // Dispatch::sram_ecc

  bool operator==(const Lowering&) const = default;
};

class LoweredCode {
 public:
  LoweredCode(std::shared_ptr<const isa::Program> program, const Lowering& lowering);

  const isa::Program& program() const { return *program_; }
  const Step* steps() const { return steps_.data(); }
  const StepCount* counts() const { return counts_.data(); }
  const Lowering& lowering() const { return lowering_; }
  // What the tables take, the Program's apart.
  size_t memory_bytes() const {
    return sizeof *this + steps_.capacity() * sizeof(Step) + counts_.capacity() * sizeof(StepCount);
  }

 private:
  std::shared_ptr<const isa::Program> program_;
  Lowering lowering_;
  std::vector<Step> steps_;
  std::vector<StepCount> counts_;
  isa::Inst end_;  // what the last Step is called with
};

// count.cc
StepCount classify(const isa::Inst& inst, Shape shape);

}  // namespace wavetap::emu
