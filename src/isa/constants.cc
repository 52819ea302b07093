#include "isa/constants.h"

#include <iterator>

namespace wavetap::isa {
namespace {

// LLVM numbers target operand types from MCOI::OPERAND_FIRST_TARGET on, in this order (SIDefines.h
// of LLVM 19; decoder_test checks it against known opcodes).
constexpr unsigned kFirstTargetType = 13;
constexpr SourceType kTypes[] = {
    // Register, inline constant or literal.
    SourceType::kInt32,
    SourceType::kInt64,
    SourceType::kInt16,
    SourceType::kFp32,
    SourceType::kFp64,
    SourceType::kBf16,
    SourceType::kFp16,
    SourceType::kBf16,
    SourceType::kFp16,
    SourceType::kFp32,
    SourceType::kPackedBf16,
    SourceType::kPackedFp16,
    SourceType::kPackedInt16,
    SourceType::kPackedInt32,
    SourceType::kPackedFp32,
    // Register or inline constant.
    SourceType::kInt16,
    SourceType::kInt32,
    SourceType::kInt64,
    SourceType::kBf16,
    SourceType::kFp16,
    SourceType::kFp32,
    SourceType::kFp64,
    SourceType::kPackedInt16,
    SourceType::kPackedBf16,
    SourceType::kPackedFp16,
    SourceType::kPackedInt32,
    SourceType::kPackedFp32,
    // Split-barrier constant, then the K operands.
    SourceType::kInt32,
    SourceType::kLiteral32,
    SourceType::kLiteral16,
    // AccVGPR or inline constant.
    SourceType::kInt16,
    SourceType::kInt32,
    SourceType::kBf16,
    SourceType::kFp16,
    SourceType::kFp32,
    SourceType::kFp64,
    SourceType::kPackedInt16,
    SourceType::kPackedBf16,
    SourceType::kPackedFp16,
    SourceType::kPackedInt32,
    SourceType::kPackedFp32,
};

struct FloatConstant {
  uint16_t fp16;
  uint16_t bf16;
  uint32_t fp32;
  uint64_t fp64;
};

// Fields 240..248.
constexpr FloatConstant kFloats[] = {
    {0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000},  // 0.5
    {0xb800, 0xbf00, 0xbf000000, 0xbfe0000000000000},
    {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000},  // 1
    {0xbc00, 0xbf80, 0xbf800000, 0xbff0000000000000},
    {0x4000, 0x4000, 0x40000000, 0x4000000000000000},  // 2
    {0xc000, 0xc000, 0xc0000000, 0xc000000000000000},
    {0x4400, 0x4080, 0x40800000, 0x4010000000000000},  // 4
    {0xc400, 0xc080, 0xc0800000, 0xc010000000000000},
    {0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882},  // 1/(2*pi)
};

uint64_t integer_constant(SourceType type, int64_t value) {
  switch (type) {
    case SourceType::kInt64:
    case SourceType::kFp64:
    case SourceType::kPackedInt32:
    case SourceType::kPackedFp32: return static_cast<uint64_t>(value);
    case SourceType::kInt16:
    case SourceType::kFp16:
    case SourceType::kBf16: return static_cast<uint16_t>(value);
    default: return static_cast<uint32_t>(value);
  }
}

uint64_t float_constant(SourceType type, const FloatConstant& constant) {
  switch (type) {
    case SourceType::kInt64:
    case SourceType::kFp64: return constant.fp64;
    case SourceType::kFp16:
    case SourceType::kPackedFp16: return constant.fp16;
    case SourceType::kBf16:
    case SourceType::kPackedBf16: return constant.bf16;
    case SourceType::kInt16: return constant.fp32 & 0xffff;
    default: return constant.fp32;
  }
}

uint64_t literal_constant(SourceType type, uint32_t literal, bool sign_extend) {
  switch (type) {
    case SourceType::kFp64: return uint64_t{literal} << 32;
    case SourceType::kInt64:
      return sign_extend ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal)}) : literal;
    case SourceType::kInt16:
    case SourceType::kFp16:
    case SourceType::kBf16:
    case SourceType::kLiteral16: return literal & 0xffff;
    default: return literal;
  }
}

}  // namespace

SourceType source_type(unsigned llvm_operand_type) {
  if (llvm_operand_type < kFirstTargetType) return SourceType::kNone;
  const unsigned index = llvm_operand_type - kFirstTargetType;
  return index < std::size(kTypes) ? kTypes[index] : SourceType::kNone;
}

uint64_t expand_constant(SourceType type, uint32_t field, uint32_t literal, bool sign_extend) {
  if (type == SourceType::kLiteral32 || type == SourceType::kLiteral16 || field == kLiteralField)
    return literal_constant(type, literal, sign_extend);
  if (field >= 240) return float_constant(type, kFloats[field - 240]);
  const int64_t value = field <= 192 ? int64_t{field} - 128 : 192 - int64_t{field};
  return integer_constant(type, value);
}

uint8_t dwords_of(SourceType type) {
  switch (type) {
    case SourceType::kInt64:
    case SourceType::kFp64:
    case SourceType::kPackedInt32:
    case SourceType::kPackedFp32: return 2;
    default: return 1;
  }
}

}  // namespace wavetap::isa
