// VopCheck: runs one vector instruction on edge values and compares every lane with the reference.
//
// Modifiers are applied here a second time, independently of the engine: by lane, from the decoded
// flags.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emu/exec.h"
#include "emu/testing/machine.h"
#include "emu/testing/vop_reference.h"
#include "emu/testing/vop_sweep.h"

#include <gtest/gtest.h>

namespace wavetap::emu {

// Values at the borders of a type's behaviour.
const std::vector<uint64_t>& edge_values(const std::string& type);

class VopCheck {
 public:
  explicit VopCheck(const Shape& shape);

  // Compares `rounds` waves of operands. False when the reference does not know the operation.
  bool check(const isa::Inst& inst, int rounds, uint64_t exec);

  TestMachine machine;
  // How the engine's handler is found.
  Handler (*find)(const isa::Inst& inst, Shape shape) = find_handler;
  // Floating-point operands are numbers of ordinary size: a wave without NaNs takes shorter paths.
  bool ordinary = false;

 private:
  uint64_t ordinary_value(const std::string& type);
  uint64_t operand_value(const isa::Operand& operand, int lane) const;
  uint64_t modified_source(const isa::Inst& inst, int k, const std::string& type, int lane,
                           bool& writable) const;
  uint64_t finished_result(const isa::Inst& inst, const std::string& type, uint64_t value) const;
  uint32_t merged(const isa::Inst& inst, int bits, uint64_t value, uint32_t old) const;

  Shape shape_;
  std::mt19937_64 random_{12345};
  std::vector<uint32_t> before_;  // registers before the instruction
  std::array<uint32_t, isa::slot::kCount> scalars_before_{};
};

}  // namespace wavetap::emu
