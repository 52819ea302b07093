#include "sanitize/undefined_bits.h"

#include <cstddef>

namespace wavetap::sanitize {
namespace {

using isa::Op;

constexpr uint64_t kWord = 0xffff'ffff;
constexpr uint64_t kHalf = 0xffff;

struct Bits {
  uint64_t undefined = 0;
  uint64_t value = 0;
};

// A bit that one operand decides: 0 for an and, 1 for an or.
Bits logical_and(Bits a, Bits b) {
  return {(a.undefined & b.undefined) | (a.undefined & b.value) | (b.undefined & a.value),
          a.value & b.value};
}
Bits logical_or(Bits a, Bits b) {
  return {(a.undefined & b.undefined) | (a.undefined & ~b.value) | (b.undefined & ~a.value),
          a.value | b.value};
}

// Sums and products depend on what is at the same place or below.
uint64_t from_lowest(uint64_t undefined) {
  return undefined == 0 ? 0 : ~((undefined & (~undefined + 1)) - 1);
}

uint64_t sign_extend(uint64_t bits, uint32_t width) {
  if (width == 0) return 0;
  const uint32_t above = 64 - width;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << above) >> above);
}

enum class Shift : uint8_t { kLeft, kRight, kArithmetic };

Bits shifted(Bits of, Bits by, Shift direction, uint32_t width) {
  if ((by.undefined & (width - 1)) != 0) return {~uint64_t{0}, 0};
  const auto amount = static_cast<uint32_t>(by.value & (width - 1));
  const uint64_t all = width == 64 ? ~uint64_t{0} : kWord;
  const auto move = [&](uint64_t bits) {
    if (direction == Shift::kLeft) return bits << amount & all;
    if (direction == Shift::kRight) return (bits & all) >> amount;
    return static_cast<uint64_t>(static_cast<int64_t>(sign_extend(bits, width)) >> amount) & all;
  };
  return {move(of.undefined), move(of.value)};
}

uint64_t field(Bits of, Bits offset, Bits width, bool is_signed) {
  if (((offset.undefined | width.undefined) & 0x1f) != 0) return ~uint64_t{0};
  const auto count = static_cast<uint32_t>(width.value & 0x1f);
  const uint64_t bits =
      (of.undefined & kWord) >> (offset.value & 0x1f) & ((uint64_t{1} << count) - 1);
  return is_signed ? sign_extend(bits, count) : bits;
}

// v_perm_b32: each byte of the selector picks a byte of the sources, or a constant.
uint64_t permuted(Bits high, Bits low, Bits selector) {
  if ((selector.undefined & kWord) != 0) return ~uint64_t{0};
  const uint64_t all = (low.undefined & kWord) | high.undefined << 32;
  uint64_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint64_t pick = selector.value >> (8 * i) & 0xff;
    uint64_t byte = 0;
    if (pick < 8) byte = all >> (8 * pick) & 0xff;
    else if (pick < 12 && (all >> (16 * (pick - 8) + 15) & 1) != 0) byte = 0xff;  // a sign
    result |= byte << (8 * i);
  }
  return result;
}

uint64_t packed(Bits a, Bits b, uint32_t shift_a, uint32_t shift_b) {
  return (a.undefined >> shift_a & kHalf) | (b.undefined >> shift_b & kHalf) << 16;
}

// The operations that hand on bits. False: not one of them.
bool hand_on(Op op, Bits a, Bits b, Bits c, uint64_t* result) {
  switch (op) {
    case Op::v_mov_b32:
    case Op::v_mov_b16:
    case Op::v_mov_b64:
    case Op::v_accvgpr_mov_b32:
    case Op::v_accvgpr_read_b32:
    case Op::v_accvgpr_write_b32:
    case Op::v_not_b32:
    case Op::s_mov_b32:
    case Op::s_mov_b64: *result = a.undefined; return true;
    case Op::v_and_b32: *result = logical_and(a, b).undefined; return true;
    case Op::v_or_b32: *result = logical_or(a, b).undefined; return true;
    case Op::v_xor_b32: *result = a.undefined | b.undefined; return true;
    case Op::v_xor3_b32: *result = a.undefined | b.undefined | c.undefined; return true;
    case Op::v_or3_b32: *result = logical_or(logical_or(a, b), c).undefined; return true;
    case Op::v_and_or_b32: *result = logical_or(logical_and(a, b), c).undefined; return true;
    case Op::v_lshl_or_b32:
      *result = logical_or(shifted(a, b, Shift::kLeft, 32), c).undefined;
      return true;
    case Op::v_bfi_b32:
      *result = a.undefined | (b.undefined & a.value) | (c.undefined & ~a.value);
      return true;
    case Op::v_lshlrev_b32: *result = shifted(b, a, Shift::kLeft, 32).undefined; return true;
    case Op::v_lshrrev_b32: *result = shifted(b, a, Shift::kRight, 32).undefined; return true;
    case Op::v_ashrrev_i32: *result = shifted(b, a, Shift::kArithmetic, 32).undefined; return true;
    case Op::v_lshlrev_b64: *result = shifted(b, a, Shift::kLeft, 64).undefined; return true;
    case Op::v_lshrrev_b64: *result = shifted(b, a, Shift::kRight, 64).undefined; return true;
    case Op::v_ashrrev_i64: *result = shifted(b, a, Shift::kArithmetic, 64).undefined; return true;
    case Op::s_lshl_b32: *result = shifted(a, b, Shift::kLeft, 32).undefined; return true;
    case Op::s_lshr_b32: *result = shifted(a, b, Shift::kRight, 32).undefined; return true;
    case Op::s_ashr_i32: *result = shifted(a, b, Shift::kArithmetic, 32).undefined; return true;
    case Op::s_lshl_b64: *result = shifted(a, b, Shift::kLeft, 64).undefined; return true;
    case Op::s_lshr_b64: *result = shifted(a, b, Shift::kRight, 64).undefined; return true;
    case Op::v_bfe_u32: *result = field(a, b, c, false); return true;
    case Op::v_bfe_i32: *result = field(a, b, c, true); return true;
    case Op::s_bfe_u32:
    case Op::s_bfe_i32:
      *result = field(a, b, {b.undefined >> 16, b.value >> 16}, op == Op::s_bfe_i32);
      return true;
    case Op::s_sext_i32_i8: *result = sign_extend(a.undefined & 0xff, 8); return true;
    case Op::s_sext_i32_i16: *result = sign_extend(a.undefined & kHalf, 16); return true;
    case Op::v_perm_b32: *result = permuted(a, b, c); return true;
    case Op::v_alignbit_b32:
    case Op::v_alignbyte_b32: {
      const Bits pair{(b.undefined & kWord) | a.undefined << 32, 0};
      const bool is_byte = op == Op::v_alignbyte_b32;
      const uint64_t mask = is_byte ? 3 : 31;
      const Bits by{c.undefined & mask, (c.value & mask) * (is_byte ? 8 : 1)};
      *result = shifted(pair, by, Shift::kRight, 64).undefined & kWord;
      return true;
    }
    case Op::v_pack_b32_f16:
    case Op::s_pack_ll_b32_b16: *result = packed(a, b, 0, 0); return true;
    case Op::s_pack_lh_b32_b16: *result = packed(a, b, 0, 16); return true;
    case Op::s_pack_hh_b32_b16: *result = packed(a, b, 16, 16); return true;
    default: return false;
  }
}

// Arithmetic of which the low bits depend on low bits alone.
bool calculate(Op op, Bits a, Bits b, Bits c, uint64_t* result) {
  constexpr uint64_t kFactor = 0xff'ffff;  // of 24-bit products
  switch (op) {
    case Op::v_add_u32:
    case Op::v_sub_u32:
    case Op::v_subrev_u32:
    case Op::v_mul_lo_u32:
    case Op::s_add_u32:
    case Op::s_add_i32:
    case Op::s_sub_u32:
    case Op::s_sub_i32:
    case Op::s_mul_i32: *result = from_lowest(a.undefined | b.undefined); return true;
    case Op::v_add3_u32:
      *result = from_lowest(a.undefined | b.undefined | c.undefined);
      return true;
    case Op::v_lshl_add_u32:
      *result = from_lowest(shifted(a, b, Shift::kLeft, 32).undefined | c.undefined);
      return true;
    case Op::v_add_lshl_u32:
      *result = shifted({from_lowest(a.undefined | b.undefined), 0}, c, Shift::kLeft, 32).undefined;
      return true;
    case Op::v_mul_u32_u24:
      *result = from_lowest((a.undefined | b.undefined) & kFactor);
      return true;
    case Op::v_mad_u32_u24:
      *result = from_lowest(((a.undefined | b.undefined) & kFactor) | c.undefined);
      return true;
    case Op::v_cvt_f32_ubyte0:
    case Op::v_cvt_f32_ubyte1:
    case Op::v_cvt_f32_ubyte2:
    case Op::v_cvt_f32_ubyte3: {
      const uint32_t byte = static_cast<uint32_t>(op) - static_cast<uint32_t>(Op::v_cvt_f32_ubyte0);
      *result = (a.undefined >> (8 * byte) & 0xff) != 0 ? ~uint64_t{0} : 0;
      return true;
    }
    default: return false;
  }
}

}  // namespace

bool find_undefined_bits(Op op, const SourceBits& of, uint64_t* result) {
  const Bits a{of.undefined[0], of.value[0] & ~of.undefined[0]};
  const Bits b{of.undefined[1], of.value[1] & ~of.undefined[1]};
  const Bits c{of.undefined[2], of.value[2] & ~of.undefined[2]};
  return hand_on(op, a, b, c, result) || calculate(op, a, b, c, result);
}

bool hands_on_bits(Op op) {
  uint64_t result = 0;
  return op == Op::v_readfirstlane_b32 || op == Op::v_readlane_b32 || op == Op::v_pk_mov_b32 ||
         hand_on(op, {}, {}, {}, &result);
}

}  // namespace wavetap::sanitize
