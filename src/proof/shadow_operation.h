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
  bool is_high = false;  // of a result of 16 bits
  Sample source[64][kMostSources];
  RawSample raw[64][3];  // of bits that are moved about

  bool is_scalar() const { return dst.is(isa::OperandKind::kScalar); }
  emu::RegisterFile file() const {
    if (is_scalar()) return emu::RegisterFile::kScalar;
    return dst.is(isa::OperandKind::kAgpr) ? emu::RegisterFile::kAgpr : emu::RegisterFile::kVgpr;
  }
  // Of a result of 16 bits, the other half is whatever it was, or zero.
  bool is_half() const { return row.result_bits == 16; }
  // What is known of one lane of the result, once the instruction has run.
  WordCells result(const emu::Wave& wave, int lane) const;

 private:
  Cell number(const emu::Wave& wave, int lane, uint32_t low, uint32_t high) const;
};

inline constexpr size_t kMostOperations = 4;

// The results of an instruction that is about to run, in `made`; how many there are. Results that are
// not named are exact.
size_t find_operations(const emu::Wave& wave, const ShadowRegisters& registers,
                       const isa::Inst& inst, ShadowOperation* made);

}  // namespace wavetap::proof
