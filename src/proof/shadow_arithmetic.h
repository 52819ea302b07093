// Floating-point operations of the GPU in fp64, with a running bound of what the original's roundings
// amount to (Wilkinson's running error analysis).
//
// Decisions are the original's: which of two numbers is greater, what a number is rounded to, which
// way a branch goes. So the reference is the number that the original computes but for its roundings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "isa/inst.h"
#include "proof/shadow_cell.h"

namespace wavetap::proof {

enum class Rule : uint8_t {
  kAdd,
  kSubtract,
  kSubtractReversed,
  kMultiply,
  kMultiplyLegacy,  // zero times anything is zero
  kFma,
  kFmaLegacy,
  kMad,     // rounds in between
  kPick,    // the source that the original took: minima, maxima, medians
  kMove,    // the first source, as it is
  kSelect,  // v_cndmask
  kReciprocal,
  kReciprocalRoot,
  kRoot,
  kExp2,
  kLog2,
  kSine,  // of revolutions
  kCosine,
  kScale,  // ldexp
  kFraction,
  kPowerOfTwo,  // the first source times the power of two that the original took
  kDivideFmas,
  kDivide,  // v_div_fixup: the third source by the second
  kConvert,
  kFromSigned,
  kFromUnsigned,
  kFromHalf,
  kDot2,     // of halves
  kSign,     // bits of the sign change, at most
  kStep,     // whole-number steps of at most one unit in the last place
  kWhole,    // the original's whole number, or what follows from it exactly
  kUnknown,  // arithmetic that the reference does not have
};

struct RuleRow {
  Rule rule = Rule::kWhole;
  uint8_t source_bits = 32;
  uint8_t result_bits = 32;
  uint8_t sources = 1;
};

// Of a vector operation. kWhole for what is not arithmetic of floating point.
RuleRow rule_of(isa::Op op);

// One lane of a result; `actual` is the original's, `bits` its low 32. Modifiers of sources are in them;
// what the result's do (clamp, omod) is not.
Cell evaluate(const RuleRow& row, std::span<const Sample> sources, double actual, uint32_t bits);

}  // namespace wavetap::proof
