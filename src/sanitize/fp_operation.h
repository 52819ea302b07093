// What a vector operation computes with, as far as fpcheck cares: from its name, since the names of the
// instruction set say it ("v_cvt_f16_f32").
#pragma once

#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace wavetap::sanitize {

enum class FpType : uint8_t { kNone, kF16, kF32, kF64, kInteger };

struct FpOperation {
  FpType result = FpType::kNone;  // kNone: not for fpcheck
  FpType operand = FpType::kNone;
  bool is_packed = false;      // two results: halves of a register, or two registers
  bool is_conversion = false;  // between types
  uint8_t bits = 0;            // of an integer result
  bool is_signed = false;
  bool ends_division = false;  // src[0] is what the steps before made, whatever it is

  uintptr_t packed() const;
  static FpOperation unpacked(uintptr_t tag);
};

FpOperation fp_operation_of(isa::Op op);

// The instructions whose results only flow into a v_div_fixup, by index.
std::vector<bool> find_division_steps(const isa::Program& program);

}  // namespace wavetap::sanitize
