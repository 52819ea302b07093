// The results of a matrix instruction (v_mfma_*), for all lanes: found before it runs, while A, B and C
// are what they are.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/register_use.h"
#include "emu/wave.h"
#include "isa/inst.h"
#include "proof/shadow_registers.h"

namespace wavetap::proof {

class ShadowMatrix {
 public:
  // False: not an instruction that is followed.
  bool find(const emu::Wave& wave, const ShadowRegisters& registers, const isa::Inst& inst);
  void clear() { cells_.clear(); }

  bool has(emu::RegisterFile file, uint32_t reg) const {
    return !cells_.empty() && file == file_ && reg >= first_ && reg < first_ + count_;
  }
  // Once it has run.
  WordCells result(const emu::Wave& wave, uint32_t reg, int lane) const;

 private:
  emu::RegisterFile file_ = emu::RegisterFile::kVgpr;
  uint32_t first_ = 0, count_ = 0;
  bool is_double_ = false;
  std::vector<Cell> cells_;  // by register (of f64: pair of registers) and lane
};

}  // namespace wavetap::proof
