// What the reference knows of one number: its value as fp64 arithmetic has it, and how far the
// roundings of the original may have taken the original from there.
#pragma once

#include <cstdint>

namespace wavetap::proof {

enum class CellKind : uint8_t {
  kExact,     // nothing is kept: the bits themselves are the value
  kF32,       // a number of 32 bits
  kF64,       // the low half of a number of 64 bits; what is known of it is kept here
  kF64High,   // its high half
  kUnknown,   // a number that the reference cannot follow
  kOverflow,  // what the original made of a number too large for its type
};

struct Cell {
  double value = 0;
  double bound = 0;  // |original - value| is at most this, to first order
  CellKind kind = CellKind::kExact;
};

// An operand of one lane: what the original has, and what is known of it.
struct Sample {
  double actual = 0;
  Cell cell;          // its value and bound hold for exact ones as well
  uint32_t bits = 0;  // the low 32, before neg and abs

  bool is_lost() const {
    return cell.kind == CellKind::kUnknown || cell.kind == CellKind::kOverflow;
  }
};

}  // namespace wavetap::proof
