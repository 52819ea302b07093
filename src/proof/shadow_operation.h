// One result of an instruction, for all lanes of a wave: its sources are looked at before the instruction
// runs, its value is found afterwards.
#pragma once

#include <cstdint>

#include "emu/register_use.h"
#include "emu/wave.h"
#include "isa/inst.h"
#include "proof/shadow_arithmetic.h"
#include "proof/shadow_registers.h"

namespace wavetap::proof {

struct ShadowOperation {
  RuleRow row;
  isa::Operand dst;
  uint16_t reg = 0;  // the first of the result
  bool clamp = false;
  uint8_t omod = 0;
  Sample source[64][3];

  bool is_scalar() const { return dst.is(isa::OperandKind::kScalar); }
  emu::RegisterFile file() const {
    if (is_scalar()) return emu::RegisterFile::kScalar;
    return dst.is(isa::OperandKind::kAgpr) ? emu::RegisterFile::kAgpr : emu::RegisterFile::kVgpr;
  }
  // What is known of one lane of the result, once the instruction has run.
  Cell result(const emu::Wave& wave, int lane) const;
};

inline constexpr size_t kMostOperations = 4;

// The results of an instruction that is about to run, in `made`; how many there are. Results that are
// not named are exact.
size_t find_operations(const emu::Wave& wave, const ShadowRegisters& registers,
                       const isa::Inst& inst, ShadowOperation* made);

}  // namespace wavetap::proof
