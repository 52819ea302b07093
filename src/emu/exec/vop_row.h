// VopRow: the handlers of one vector operation, and the tables of them. The tables may exist
// several times, built for different host instruction sets; this header is what they have in
// common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/exec.h"
#include "isa/inst.h"

namespace wavetap::emu {

// How the halves of a packed operand are chosen and modified.
enum class Pack : uint8_t {
  kNone,
  kHalves,       // two 16-bit values in a dword
  kWholeHalves,  // the same, in an encoding without op_sel: both stay in place
  kDwords,       // two 32-bit values in a register pair
  kSignFree,     // one dword; neg and abs mean something else
  kMixed,        // op_sel_hi chooses between an f16 half and an f32; reaches the kernel as f32
};

// Of floating-point operations that are counted.
enum class Precision : uint8_t { kF16, kF32, kF64 };

// What the tables say of an operation besides how it is done.
struct VopFacts {
  static constexpr size_t kMaxSources = 5;
  struct Source {
    uint8_t bits = 32;  // width of the value
    Pack pack = Pack::kNone;
    bool is_old = false;  // the destination's value before, not an operand of its own
  };
  uint8_t flops = 0;  // per lane: add, multiply and the like one, a fused multiply-add two
  Precision precision = Precision::kF32;
  uint8_t sources = 0;
  Source source[kMaxSources];
};
// Null when the instruction is none of theirs. find_vop.cc
const VopFacts* find_vop_facts(const isa::Inst& inst);

struct VopRow {
  isa::Op op = isa::Op::kInvalid;
  Handler plain = nullptr;      // no modifiers, see also plain_signs
  Handler plain_low = nullptr;  // the same, into the low half of the register: 16-bit results only
  // No modifiers; every operand a VGPR, or every one but the first, which is scalar.
  // [wave64][scalar]; may be null.
  Handler direct[2][2] = {};
  Handler generic = nullptr;     // any modifier except integer clamp
  Handler saturating = nullptr;  // integer clamp; null when the operation has none
  Pack pack = Pack::kNone;       // of its operands
  bool plain_signs = false;      // `plain` takes abs and neg of every operand
  VopFacts facts;
};

// The row's handler that fits the modifiers and operands of `inst`; null without a row. find_vop.cc
Handler choose_handler(const VopRow* row, const isa::Inst& inst, Shape shape);

// Of the variants that CMakeLists.txt builds for amd64: the host can run them. find_vop.cc
bool host_has_x86_64_v3();

// Finders of the operation's row; null when there is none.
struct VopTables {
  const VopRow* (*vop)(isa::Op op);
  const VopRow* (*vopc)(isa::Op op);
  const VopRow* (*vop3p)(const isa::Inst& inst);
};

}  // namespace wavetap::emu
