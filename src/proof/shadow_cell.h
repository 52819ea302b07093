// What the reference knows of one number: its value as fp64 arithmetic has it, and how far the
// roundings of the original may have taken the original from there.
#pragma once

#include <cstdint>

namespace wavetap::proof {

enum class CellKind : uint8_t {
  kExact,     // nothing is kept: the bits themselves are the value
  kF16,       // a number of 16 bits
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

  bool is_exact() const { return kind == CellKind::kExact; }
  bool is_lost() const { return kind == CellKind::kUnknown || kind == CellKind::kOverflow; }
};

inline constexpr Cell kUnknownCell{0, 0, CellKind::kUnknown};

// Of 32 bits: one number, a part of a larger one, or two of 16 bits.
struct WordCells {
  Cell low;   // of all bits where its kind is of more than 16 bits
  Cell high;  // of a number of 16 bits; lost where all 32 are

  static WordCells of(const Cell& cell) { return {cell, cell.is_lost() ? cell : Cell{}}; }

  bool is_exact() const { return low.is_exact() && high.is_exact(); }
  bool is_one() const {
    return low.kind == CellKind::kF32 || low.kind == CellKind::kF64 ||
           low.kind == CellKind::kF64High;
  }
  // As one number. Two of 16 bits are just bits then.
  Cell whole() const {
    if (is_one() || low.is_lost()) return low;
    return high.is_lost() ? high : Cell{};
  }
  // As two of 16 bits. The upper half of a larger number is just bits then.
  Cell half(bool is_high) const {
    if (is_one()) return {};
    return is_high ? high : low;
  }
  void set_half(bool is_high, const Cell& cell) {
    if (is_one()) low = {};
    (is_high ? high : low) = cell;
  }
};

// An operand of one lane: what the original has, and what is known of it.
struct Sample {
  double actual = 0;
  Cell cell;          // its value and bound hold for exact ones as well
  uint32_t bits = 0;  // the low 32, before neg and abs

  bool is_lost() const { return cell.is_lost(); }
};

// The same of bits that are moved about.
struct RawSample {
  WordCells cells;
  uint32_t bits = 0;
};

}  // namespace wavetap::proof
