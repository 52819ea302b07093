// Which registers an instruction reads and writes: which lanes of them, which bytes.
//
// Exact as the architecture has it, not as the engine happens to do it: a load into half a register
// writes that half (all of it with SRAM ECC), SDWA and op_sel pick bytes, DPP picks lanes, indexed
// operands are the registers that the index leads to. What an instruction implies without naming it
// (SCC, VCC, EXEC, M0) is listed as well. A register that only some of the possible values would use
// counts as read: both sources of v_cndmask_b32, say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/inst.h"

namespace wavetap::emu {

struct Wave;

enum class RegisterFile : uint8_t {
  kScalar,  // numbered by isa::slot; SCC is slot::kScc
  kVgpr,
  kAgpr,
};

// `count` registers from `first` on, used alike.
struct RegisterUse {
  RegisterFile file = RegisterFile::kScalar;
  bool is_write = false;
  uint8_t bytes = 0xf;  // of each register: bit i is byte i
  uint8_t count = 1;
  uint16_t first = 0;
  uint64_t lanes = 0;  // of vector registers
};

class RegisterUses {
 public:
  std::span<const RegisterUse> span() const { return {uses_, count_}; }
  const RegisterUse* begin() const { return uses_; }
  const RegisterUse* end() const { return uses_ + count_; }

  void add(const RegisterUse& use) {
    if (count_ < kMax) uses_[count_++] = use;
  }

 private:
  static constexpr size_t kMax = 40;  // a VOPD pair has some 20
  size_t count_ = 0;
  RegisterUse uses_[kMax];
};

// What `inst` will use, as the wave is now: to be asked before it runs. For the first half of a VOPD
// pair, both halves.
void find_register_uses(const Wave& wave, const isa::Inst& inst, RegisterUses& uses);

}  // namespace wavetap::emu
