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
  kDot2,  // products of halves: two of the first, two of the second, and what they are added to
  kBits,  // bits that are moved about: of a number the sign changes at most, or it is half of a result
  kStep,     // whole-number steps of at most one unit in the last place
  kWhole,    // the original's whole number, or what follows from it exactly
  kUnknown,  // arithmetic that the reference does not have
};

struct RuleRow {
  Rule rule = Rule::kWhole;
  uint8_t source_bits = 32;
  uint8_t result_bits = 32;
  uint8_t sources = 1;
  bool truncates = false;  // else to the nearest
  bool flushes = true;     // a result of 16 bits: small numbers become zero
};
inline constexpr size_t kMostSources = 5;

// Of a vector operation. kWhole for what is not arithmetic of floating point.
RuleRow rule_of(isa::Op op);

// One lane of a result; `actual` is the original's, `bits` its low 32. Modifiers of sources are in them;
// what the result's do (clamp, omod) is not.
Cell evaluate(const RuleRow& row, std::span<const Sample> sources, double actual, uint32_t bits);
// The same for kBits and kStep: `bits` is what they came to.
WordCells evaluate_bits(const RuleRow& row, std::span<const RawSample> sources, uint32_t bits);

// Conversions, comparisons and roundings to whole numbers apart: operations that take bits as they are,
// whatever number they are of.
bool is_of_bits(isa::Op op);

}  // namespace wavetap::proof
