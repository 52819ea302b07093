// VopCheck: runs one vector instruction on edge values and compares every lane with the reference.
//
// Modifiers are applied here a second time, independently of the engine: by lane, from the decoded
// flags.
#pragma once

#include <cmath>
#include <cstdint>
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

// splitmix64: most numbers fill registers that must stay as they are.
struct QuickRandom {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

// A type of the reference's lists ("f32", "pk16", …), taken apart once: operands are made by the million.
struct ValueType {
  explicit ValueType(const std::string& name);

  bool is_packed = false;  // two parts, each with its own sign and half
  bool is_mix = false;     // f32, or a half that the operand chooses
  bool is_float = false;
  bool uses_f32_mode = false;
  int bits = 32, part_bits = 32;
  const std::vector<uint64_t>* edges = nullptr;
  const std::vector<uint64_t>* part_edges = nullptr;  // of packed types
};

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
  uint64_t ordinary_value(const ValueType& type);
  uint64_t operand_value(const isa::Operand& operand, int lane) const;
  uint64_t modified_source(const isa::Inst& inst, int k, const ValueType& type, int lane,
                           bool& writable) const;
  uint64_t finished_result(const isa::Inst& inst, const ValueType& type, uint64_t value) const;
  uint32_t merged(const isa::Inst& inst, int bits, uint64_t value, uint32_t old) const;

  Shape shape_;
  QuickRandom random_{12345};
  std::vector<uint32_t> before_, expected_;  // registers before and after the instruction
  std::array<uint32_t, isa::slot::kCount> scalars_before_{};
};

}  // namespace wavetap::emu
