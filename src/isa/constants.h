// Expands the inline constants and literals of source operands to the bits the operation sees.
//
// A 9-bit source field holds 128..208 for the integers 0..64 and -1..-16, 240..248 for ±0.5, ±1,
// ±2, ±4 and 1/(2*pi), 255 for "the literal that follows". What each becomes depends on the
// operand's type:
//
//   type               integers        floats                         literal
//   32-bit             sign-extended   binary32                       as is
//   64-bit float       sign-extended   binary64                       high half, low half 0
//   64-bit integer     sign-extended   binary64                       sign- or zero-extended
//   16-bit float       low 16 bits     binary16 (bfloat16)            low 16 bits
//   16-bit integer     low 16 bits     low 16 bits of the binary32    low 16 bits
//   packed 16 float    sign-ext. to 32 binary16 in the low half, high 0   as is
//   packed 16 integer  sign-ext. to 32 binary32                       as is
//   packed 32          sign-ext. to 64 binary32 in the low half, high 0   low half, high 0
//
// The 16-bit rows are what the hardware does, not what the manuals' tables suggest (LLVM's
// getInlineEncodingV216 records it). A packed operand's op_sel and op_sel_hi then choose halves of
// the expanded value like of a register: an inline 1.0 with op_sel_hi set feeds 0 to the high
// result.
#pragma once

#include <cstdint>

namespace wavetap::isa {

enum class SourceType : uint8_t {
  kNone,  // not a source: a register of fixed class, or a modifier
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kBf16,
  kFp32,
  kFp64,
  kPackedInt16,
  kPackedFp16,
  kPackedBf16,
  kPackedInt32,
  kPackedFp32,
  kLiteral32,
  kLiteral16,  // the K of v_madak and v_fmamk: always the trailing literal
};

// LLVM's operand type number (MCOperandInfo::OperandType).
SourceType source_type(unsigned llvm_operand_type);

inline constexpr uint32_t kLiteralField = 255;

constexpr bool is_inline_constant(uint32_t field) {
  return (field >= 128 && field <= 208) || (field >= 240 && field <= 248);
}

// `field` is an inline constant or kLiteralField. `sign_extend` matters for a literal of kInt64
// only.
uint64_t expand_constant(SourceType type, uint32_t field, uint32_t literal, bool sign_extend);

// Bits of the value at the operand's width: 1 for up to 32 bits, 2 for 64.
uint8_t dwords_of(SourceType type);

}  // namespace wavetap::isa
