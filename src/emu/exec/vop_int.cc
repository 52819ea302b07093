// Integer, bitwise and move operations of 16, 32 and 64 bits. Shift counts are taken modulo the
// width; arithmetic wraps, or saturates with the clamp bit.
#include "emu/exec/vop_tables.h"

#include <limits>

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

// --- Families shared by several widths.

constexpr auto kMove = [](auto a) { return a; };
constexpr auto kNot = [](auto a) { return static_cast<decltype(a)>(~a); };
constexpr auto kAnd = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto kOr = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto kXor = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto kAdd = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
constexpr auto kSub = [](auto a, auto b) { return static_cast<decltype(a)>(a - b); };
constexpr auto kSubrev = [](auto a, auto b) { return static_cast<decltype(a)>(b - a); };
constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto kMin3 = [](auto a, auto b, auto c) { return kMin(kMin(a, b), c); };
constexpr auto kMax3 = [](auto a, auto b, auto c) { return kMax(kMax(a, b), c); };
constexpr auto kMinMax = [](auto a, auto b, auto c) { return kMax(kMin(a, b), c); };
constexpr auto kMaxMin = [](auto a, auto b, auto c) { return kMin(kMax(a, b), c); };
constexpr auto kMed3 = [](auto a, auto b, auto c) { return kMax(kMin(a, b), kMin(kMax(a, b), c)); };

// "rev" shifts: the count is the first operand.
template <class T>
constexpr int kCountMask = sizeof(T) * 8 - 1;
constexpr auto kShiftLeft = [](auto count, auto a) {
  using T = decltype(a);
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << (count & kCountMask<T>));
};
constexpr auto kShiftRight = [](auto count, auto a) {
  return static_cast<decltype(a)>(a >> (count & kCountMask<decltype(a)>));
};

// The nearest value of type T to one computed in 64 bits.
template <class T>
T saturate(int64_t value) {
  constexpr int64_t kLow = std::numeric_limits<T>::min();
  constexpr int64_t kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}
constexpr auto kAddSaturating = [](auto a, auto b) {
  return saturate<decltype(a)>(int64_t{a} + b);
};
constexpr auto kSubSaturating = [](auto a, auto b) {
  return saturate<decltype(a)>(int64_t{a} - b);
};
constexpr auto kSubrevSaturating = [](auto a, auto b) {
  return saturate<decltype(a)>(int64_t{b} - a);
};

// 24-bit operands.
uint32_t low24(uint32_t a) { return a & 0xffffffu; }
int32_t sign24(int32_t a) { return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8; }

// --- Carries. The bit is the carry or borrow out of the lane.

constexpr auto kAddCarryOut = [](uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  return Carried<uint32_t>{sum, sum < a ? 1u : 0u};
};
constexpr auto kSubCarryOut = [](uint32_t a, uint32_t b) {
  return Carried<uint32_t>{a - b, a < b ? 1u : 0u};
};
constexpr auto kAddCarry = [](uint32_t a, uint32_t b, uint32_t carry) {
  const uint32_t part = a + b;
  const uint32_t sum = part + carry;
  return Carried<uint32_t>{sum, (part < a ? 1u : 0u) | (sum < part ? 1u : 0u)};
};
constexpr auto kSubBorrow = [](uint32_t a, uint32_t b, uint32_t borrow) {
  const uint32_t part = a - b;
  return Carried<uint32_t>{part - borrow, (a < b ? 1u : 0u) | (part < borrow ? 1u : 0u)};
};
// With clamp the value saturates; the bit still tells what happened.
constexpr auto kAddCarryOutSaturating = [](uint32_t a, uint32_t b) {
  const auto sum = kAddCarryOut(a, b);
  return Carried<uint32_t>{sum.bit != 0 ? ~0u : sum.value, sum.bit};
};
constexpr auto kSubCarryOutSaturating = [](uint32_t a, uint32_t b) {
  const auto difference = kSubCarryOut(a, b);
  return Carried<uint32_t>{difference.bit != 0 ? 0 : difference.value, difference.bit};
};
constexpr auto kAddCarrySaturating = [](uint32_t a, uint32_t b, uint32_t carry) {
  const auto sum = kAddCarry(a, b, carry);
  return Carried<uint32_t>{sum.bit != 0 ? ~0u : sum.value, sum.bit};
};
constexpr auto kSubBorrowSaturating = [](uint32_t a, uint32_t b, uint32_t borrow) {
  const auto difference = kSubBorrow(a, b, borrow);
  return Carried<uint32_t>{difference.bit != 0 ? 0 : difference.value, difference.bit};
};

// --- Bit fields and counts.

// D = bits [offset, offset + width) of a; a width of 0 gives 0.
uint32_t v_bfe_u32(uint32_t a, uint32_t offset, uint32_t width) {
  return (a >> (offset & 31)) & ((1u << (width & 31)) - 1);
}
// As v_bfe_u32, sign-extended from the field's top bit.
int32_t v_bfe_i32(int32_t a, uint32_t offset, uint32_t width) {
  offset &= 31;
  width &= 31;
  if (width == 0) return 0;
  // A field that reaches past bit 31 is cut there; the sign is the register's.
  if (offset + width >= 32) return a >> offset;
  return static_cast<int32_t>(static_cast<uint32_t>(a) << (32 - offset - width)) >> (32 - width);
}
uint32_t reverse_bits(uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}
// The low dword of {high, low} >> count; in two steps because a shift by 32 is not one.
uint32_t funnel_shift(uint32_t high, uint32_t low, uint32_t count) {
  return low >> count | high << 1 << (31 - count);
}
// Vectorises where std::popcount has no vector instruction.
uint32_t count_bits(uint32_t a) {
  a -= a >> 1 & 0x55555555u;
  a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
  return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
// Position of the first one from the top, first one from the bottom, first bit unlike the sign; -1:
// none.
uint32_t v_ffbh_u32(uint32_t a) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(a));
}
uint32_t v_ffbl_b32(uint32_t a) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(a));
}
uint32_t v_ffbh_i32(int32_t a) { return v_ffbh_u32(static_cast<uint32_t>(a < 0 ? ~a : a)); }

// Lanes of `mask` below this one, in the lower and in the upper half of the wave.
uint32_t lanes_below_lo(uint32_t mask, uint32_t base, uint32_t lane) {
  return base + count_bits(mask & (lane >= 32 ? ~0u : (1u << lane) - 1));
}
uint32_t lanes_below_hi(uint32_t mask, uint32_t base, uint32_t lane) {
  return base + count_bits(mask & (lane < 32 ? 0 : (1u << (lane - 32)) - 1));
}

// --- Bytes.

uint32_t byte_of(uint32_t a, int index) { return a >> 8 * index & 0xff; }
uint32_t absolute_difference(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

// Sum of the absolute differences of four bytes. `masked`: bytes of b that are 0 do not count.
uint32_t byte_sad(uint32_t a, uint32_t b, bool masked) {
  uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t reference = byte_of(b, i);
    sum += masked && reference == 0 ? 0 : absolute_difference(byte_of(a, i), reference);
  }
  return sum;
}
// Four sums over a window that slides by a byte, packed into 16-bit fields.
uint64_t quad_sad(uint64_t a, uint32_t b, uint64_t accumulator, bool masked, bool clamp) {
  uint64_t packed = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t field = static_cast<uint32_t>(accumulator >> 16 * i & 0xffff);
    uint32_t sum = byte_sad(static_cast<uint32_t>(a >> 8 * i), b, masked) + field;
    if (clamp && sum > 0xffff) sum = 0xffff;
    packed |= uint64_t{sum & 0xffff} << 16 * i;
  }
  return packed;
}
// Each result byte: selector 0..7 picks a byte of {a, b} (b is the low dword), 8..11 replicate the
// sign of a word, 12 is 0x00, more is 0xff.
uint32_t v_perm_b32(uint32_t a, uint32_t b, uint32_t selectors) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = byte_of(selectors, i);
    const uint32_t byte = ((selector & 4) != 0 ? a : b) >> 8 * (selector & 3) & 0xff;
    const uint32_t sign = ((selector & 2) != 0 ? a : b) >> (16 * (selector & 1) + 15) & 1;
    uint32_t value = selector == 12 ? 0 : 0xff;
    value = selector < 12 ? 0xff * sign : value;
    value = selector < 8 ? byte : value;
    result |= value << 8 * i;
  }
  return result;
}
// Average of bytes, rounded up where the corresponding byte of c has bit 0 set.
uint32_t v_lerp_u8(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= (byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1 << 8 * i;
  return result;
}

// --- Wide products.

uint32_t mul_hi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
int32_t mul_hi(int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }

Carried<uint64_t> mad_u64(uint32_t a, uint32_t b, uint64_t c) {
  const uint64_t product = uint64_t{a} * b;
  const uint64_t sum = product + c;
  return {sum, sum < product ? 1u : 0u};
}
// The bit is signed overflow of the 64-bit sum.
Carried<int64_t> mad_i64(int32_t a, int32_t b, int64_t c) {
  const int64_t product = int64_t{a} * b;
  const int64_t sum =
      static_cast<int64_t>(static_cast<uint64_t>(product) + static_cast<uint64_t>(c));
  return {sum, ((product ^ sum) & (c ^ sum)) < 0 ? 1u : 0u};
}

// clang-format off
constexpr auto kTable = vop_table({
    // Moves and selects.
    {Op::v_mov_b32, vop<U32(U32)>(kMove)},
    {Op::v_mov_b16, vop<U16(U16)>(kMove)},
    {Op::v_mov_b64, vop<U64(U64)>(kMove)},
    {Op::v_cndmask_b32, vop<U32(U32, U32, MaskBit)>([](uint32_t a, uint32_t b, uint32_t bit) { return bit != 0 ? b : a; })},
    {Op::v_cndmask_b16, vop<U16(U16, U16, MaskBit)>([](uint16_t a, uint16_t b, uint32_t bit) { return bit != 0 ? b : a; })},

    // Bitwise.
    {Op::v_not_b32, vop<U32(U32)>(kNot)},
    {Op::v_and_b32, vop<U32(U32, U32)>(kAnd)},
    {Op::v_or_b32, vop<U32(U32, U32)>(kOr)},
    {Op::v_xor_b32, vop<U32(U32, U32)>(kXor)},
    {Op::v_xnor_b32, vop<U32(U32, U32), Use::kRare>([](uint32_t a, uint32_t b) { return ~(a ^ b); })},
    {Op::v_not_b16, vop<U16(U16)>(kNot)},
    {Op::v_and_b16, vop<U16(U16, U16)>(kAnd)},
    {Op::v_or_b16, vop<U16(U16, U16)>(kOr)},
    {Op::v_xor_b16, vop<U16(U16, U16)>(kXor)},
    {Op::v_or3_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; })},
    {Op::v_xor3_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; })},
    {Op::v_and_or_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; })},
    {Op::v_bfi_b32, vop<U32(U32, U32, U32)>([](uint32_t mask, uint32_t a, uint32_t b) { return (mask & a) | (~mask & b); })},
    {Op::v_bfm_b32, vop<U32(U32, U32), Use::kRare>([](uint32_t width, uint32_t offset) { return ((1u << (width & 31)) - 1) << (offset & 31); })},
    {Op::v_bfe_u32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return v_bfe_u32(a, b, c); })},
    {Op::v_bfe_i32, vop<I32(I32, U32, U32)>([](int32_t a, uint32_t b, uint32_t c) { return v_bfe_i32(a, b, c); })},
    {Op::v_bfrev_b32, vop<U32(U32)>([](uint32_t a) { return reverse_bits(a); })},
    {Op::v_ffbh_u32, vop<U32(U32), Use::kRare>([](uint32_t a) { return v_ffbh_u32(a); })},
    {Op::v_ffbl_b32, vop<U32(U32), Use::kRare>([](uint32_t a) { return v_ffbl_b32(a); })},
    {Op::v_ffbh_i32, vop<U32(I32), Use::kRare>([](int32_t a) { return v_ffbh_i32(a); })},
    {Op::v_bcnt_u32_b32, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return count_bits(a) + b; })},
    {Op::v_mbcnt_lo_u32_b32, vop<U32(U32, U32, LaneId), Use::kRare>([](uint32_t a, uint32_t b, uint32_t lane) { return lanes_below_lo(a, b, lane); })},
    {Op::v_mbcnt_hi_u32_b32, vop<U32(U32, U32, LaneId), Use::kRare>([](uint32_t a, uint32_t b, uint32_t lane) { return lanes_below_hi(a, b, lane); })},

    // Shifts.
    {Op::v_lshlrev_b32, vop<U32(U32, U32)>(kShiftLeft)},
    {Op::v_lshrrev_b32, vop<U32(U32, U32)>(kShiftRight)},
    {Op::v_ashrrev_i32, vop<I32(U32, I32)>(kShiftRight)},
    {Op::v_lshlrev_b16, vop<U16(U16, U16)>(kShiftLeft)},
    {Op::v_lshrrev_b16, vop<U16(U16, U16)>(kShiftRight)},
    {Op::v_ashrrev_i16, vop<I16(U16, I16)>(kShiftRight)},
    {Op::v_lshlrev_b64, vop<U64(U32, U64)>(kShiftLeft)},
    {Op::v_lshrrev_b64, vop<U64(U32, U64)>(kShiftRight)},
    {Op::v_ashrrev_i64, vop<I64(U32, I64)>(kShiftRight)},
    {Op::v_lshl_add_u32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; })},
    {Op::v_add_lshl_u32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); })},
    {Op::v_lshl_or_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) | c; })},
    {Op::v_lshl_add_u64, vop<U64(U64, U32, U64)>([](uint64_t a, uint32_t b, uint64_t c) { return (a << (b & 7)) + c; })},
    {Op::v_alignbit_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return funnel_shift(a, b, c & 31); })},
    {Op::v_alignbyte_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return funnel_shift(a, b, 8 * (c & 3)); })},

    // Sums and differences.
    {Op::v_add_u32, vop<U32(U32, U32)>(kAdd).saturating(kAddSaturating)},
    {Op::v_sub_u32, vop<U32(U32, U32)>(kSub).saturating(kSubSaturating)},
    {Op::v_subrev_u32, vop<U32(U32, U32)>(kSubrev).saturating(kSubrevSaturating)},
    {Op::v_add_i32, vop<I32(I32, I32)>(kAdd).saturating(kAddSaturating)},
    {Op::v_sub_i32, vop<I32(I32, I32)>(kSub).saturating(kSubSaturating)},
    {Op::v_add_u16, vop<U16(U16, U16)>(kAdd).saturating(kAddSaturating)},
    {Op::v_sub_u16, vop<U16(U16, U16)>(kSub).saturating(kSubSaturating)},
    {Op::v_subrev_u16, vop<U16(U16, U16)>(kSubrev).saturating(kSubrevSaturating)},
    {Op::v_add_i16, vop<I16(I16, I16)>(kAdd).saturating(kAddSaturating)},
    {Op::v_sub_i16, vop<I16(I16, I16)>(kSub).saturating(kSubSaturating)},
    {Op::v_add3_u32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; })},
    {Op::v_xad_u32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; })},
    {Op::v_add_co_u32, vop<U32(U32, U32)>(kAddCarryOut).saturating(kAddCarryOutSaturating)},
    {Op::v_sub_co_u32, vop<U32(U32, U32)>(kSubCarryOut).saturating(kSubCarryOutSaturating)},
    {Op::v_subrev_co_u32, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return kSubCarryOut(b, a); })
                              .saturating([](uint32_t a, uint32_t b) { return kSubCarryOutSaturating(b, a); })},
    {Op::v_addc_co_u32, vop<U32(U32, U32, MaskBit)>(kAddCarry).saturating(kAddCarrySaturating)},
    {Op::v_subb_co_u32, vop<U32(U32, U32, MaskBit)>(kSubBorrow).saturating(kSubBorrowSaturating)},
    {Op::v_subbrev_co_u32, vop<U32(U32, U32, MaskBit)>([](uint32_t a, uint32_t b, uint32_t c) { return kSubBorrow(b, a, c); })
                               .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kSubBorrowSaturating(b, a, c); })},

    // Products.
    {Op::v_mul_lo_u32, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return a * b; })},
    {Op::v_mul_lo_i32, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return a * b; })},
    {Op::v_mul_hi_u32, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return mul_hi(a, b); })},
    {Op::v_mul_hi_i32, vop<I32(I32, I32)>([](int32_t a, int32_t b) { return mul_hi(a, b); })},
    {Op::v_mul_u32_u24, vop<U32(U32, U32)>([](uint32_t a, uint32_t b) { return low24(a) * low24(b); })},
    {Op::v_mul_i32_i24, vop<I32(I32, I32)>([](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{sign24(a)} * sign24(b)); })},
    {Op::v_mul_hi_u32_u24, vop<U32(U32, U32), Use::kRare>([](uint32_t a, uint32_t b) { return mul_hi(low24(a), low24(b)); })},
    {Op::v_mul_hi_i32_i24, vop<I32(I32, I32), Use::kRare>([](int32_t a, int32_t b) { return mul_hi(sign24(a), sign24(b)); })},
    {Op::v_mul_lo_u16, vop<U16(U16, U16)>([](uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t{a} * b); })},
    {Op::v_mad_u32_u24, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return low24(a) * low24(b) + c; })
                            .saturating([](uint32_t a, uint32_t b, uint32_t c) {
                              const uint64_t sum = uint64_t{low24(a)} * low24(b) + c;
                              return sum > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(sum);
                            })},
    {Op::v_mad_i32_i24, vop<I32(I32, I32, I32)>([](int32_t a, int32_t b, int32_t c) { return static_cast<int32_t>(int64_t{sign24(a)} * sign24(b) + c); })
                            .saturating([](int32_t a, int32_t b, int32_t c) { return saturate<int32_t>(int64_t{sign24(a)} * sign24(b) + c); })},
    {Op::v_mad_u64_u32, vop<U64(U32, U32, U64)>([](uint32_t a, uint32_t b, uint64_t c) { return mad_u64(a, b, c); })
                            .saturating([](uint32_t a, uint32_t b, uint64_t c) {
                              const Carried<uint64_t> sum = mad_u64(a, b, c);
                              return Carried<uint64_t>{sum.bit != 0 ? ~uint64_t{0} : sum.value, sum.bit};
                            })},
    {Op::v_mad_i64_i32, vop<I64(I32, I32, I64)>([](int32_t a, int32_t b, int64_t c) { return mad_i64(a, b, c); })
                            .saturating([](int32_t a, int32_t b, int64_t c) {
                              const Carried<int64_t> sum = mad_i64(a, b, c);
                              const int64_t limit = c < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
                              return Carried<int64_t>{sum.bit != 0 ? limit : sum.value, sum.bit};
                            })},
    {Op::v_mad_u32_u16, vop<U32(U16, U16, U32), Use::kRare>([](uint16_t a, uint16_t b, uint32_t c) { return uint32_t{a} * b + c; })
                            .saturating([](uint16_t a, uint16_t b, uint32_t c) { return saturate<uint32_t>(int64_t{uint32_t{a} * b} + c); })},
    {Op::v_mad_i32_i16, vop<I32(I16, I16, I32), Use::kRare>([](int16_t a, int16_t b, int32_t c) { return static_cast<int32_t>(int64_t{a} * b + c); })
                            .saturating([](int16_t a, int16_t b, int32_t c) { return saturate<int32_t>(int64_t{a} * b + c); })},
    {Op::v_mad_u16, vop<U16(U16, U16, U16)>([](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * b + c); })
                        .saturating([](uint16_t a, uint16_t b, uint16_t c) { return saturate<uint16_t>(int64_t{uint32_t{a} * b} + c); })},
    {Op::v_mad_i16, vop<I16(I16, I16, I16)>([](int16_t a, int16_t b, int16_t c) { return static_cast<int16_t>(int32_t{a} * b + c); })
                        .saturating([](int16_t a, int16_t b, int16_t c) { return saturate<int16_t>(int64_t{a} * b + c); })},
    {Op::v_mad_legacy_u16, vop<U16(U16, U16, U16)>([](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t{a} * b + c); })
                               .saturating([](uint16_t a, uint16_t b, uint16_t c) { return saturate<uint16_t>(int64_t{uint32_t{a} * b} + c); })},
    {Op::v_mad_legacy_i16, vop<I16(I16, I16, I16)>([](int16_t a, int16_t b, int16_t c) { return static_cast<int16_t>(int32_t{a} * b + c); })
                               .saturating([](int16_t a, int16_t b, int16_t c) { return saturate<int16_t>(int64_t{a} * b + c); })},

    // Minimum, maximum, median.
    {Op::v_min_u32, vop<U32(U32, U32)>(kMin)},
    {Op::v_max_u32, vop<U32(U32, U32)>(kMax)},
    {Op::v_min_i32, vop<I32(I32, I32)>(kMin)},
    {Op::v_max_i32, vop<I32(I32, I32)>(kMax)},
    {Op::v_min_u16, vop<U16(U16, U16)>(kMin)},
    {Op::v_max_u16, vop<U16(U16, U16)>(kMax)},
    {Op::v_min_i16, vop<I16(I16, I16)>(kMin)},
    {Op::v_max_i16, vop<I16(I16, I16)>(kMax)},
    {Op::v_min3_u32, vop<U32(U32, U32, U32)>(kMin3)},
    {Op::v_max3_u32, vop<U32(U32, U32, U32)>(kMax3)},
    {Op::v_med3_u32, vop<U32(U32, U32, U32)>(kMed3)},
    {Op::v_min3_i32, vop<I32(I32, I32, I32)>(kMin3)},
    {Op::v_max3_i32, vop<I32(I32, I32, I32)>(kMax3)},
    {Op::v_med3_i32, vop<I32(I32, I32, I32)>(kMed3)},
    {Op::v_min3_u16, vop<U16(U16, U16, U16)>(kMin3)},
    {Op::v_max3_u16, vop<U16(U16, U16, U16)>(kMax3)},
    {Op::v_med3_u16, vop<U16(U16, U16, U16)>(kMed3)},
    {Op::v_min3_i16, vop<I16(I16, I16, I16)>(kMin3)},
    {Op::v_max3_i16, vop<I16(I16, I16, I16)>(kMax3)},
    {Op::v_med3_i16, vop<I16(I16, I16, I16)>(kMed3)},
    {Op::v_minmax_u32, vop<U32(U32, U32, U32), Use::kRare>(kMinMax)},
    {Op::v_maxmin_u32, vop<U32(U32, U32, U32), Use::kRare>(kMaxMin)},
    {Op::v_minmax_i32, vop<I32(I32, I32, I32), Use::kRare>(kMinMax)},
    {Op::v_maxmin_i32, vop<I32(I32, I32, I32), Use::kRare>(kMaxMin)},

    // Bytes.
    {Op::v_perm_b32, vop<U32(U32, U32, U32)>([](uint32_t a, uint32_t b, uint32_t c) { return v_perm_b32(a, b, c); })},
    {Op::v_lerp_u8, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return v_lerp_u8(a, b, c); })},
    {Op::v_sad_u8, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return byte_sad(a, b, false) + c; })
                       .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kAddSaturating(byte_sad(a, b, false), c); })},
    {Op::v_sad_hi_u8, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return (byte_sad(a, b, false) << 16) + c; })
                          .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kAddSaturating(byte_sad(a, b, false) << 16, c); })},
    {Op::v_msad_u8, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return byte_sad(a, b, true) + c; })
                        .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kAddSaturating(byte_sad(a, b, true), c); })},
    {Op::v_sad_u16, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16) + c; })
                        .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kAddSaturating(absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16), c); })},
    {Op::v_sad_u32, vop<U32(U32, U32, U32), Use::kRare>([](uint32_t a, uint32_t b, uint32_t c) { return absolute_difference(a, b) + c; })
                        .saturating([](uint32_t a, uint32_t b, uint32_t c) { return kAddSaturating(absolute_difference(a, b), c); })},
    {Op::v_qsad_pk_u16_u8, vop<U64(U64, U32, U64)>([](uint64_t a, uint32_t b, uint64_t c) { return quad_sad(a, b, c, false, false); })
                               .saturating([](uint64_t a, uint32_t b, uint64_t c) { return quad_sad(a, b, c, false, true); })},
    {Op::v_mqsad_pk_u16_u8, vop<U64(U64, U32, U64)>([](uint64_t a, uint32_t b, uint64_t c) { return quad_sad(a, b, c, true, false); })
                                .saturating([](uint64_t a, uint32_t b, uint64_t c) { return quad_sad(a, b, c, true, true); })},
    {Op::v_sat_pk_u8_i16, vop<U16(U32)>([](uint32_t a) {
       const auto low = saturate<uint8_t>(static_cast<int16_t>(a));
       const auto high = saturate<uint8_t>(static_cast<int16_t>(a >> 16));
       return static_cast<uint16_t>(low | high << 8);
     })},
});
// clang-format on

}  // namespace

const VopRow* find_int_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
