// What integer operations are built of; s[] are the sources. vector_ops.cc puts them into its table.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/native/lane_builder.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit::parts {

using llvm::CmpInst;
using llvm::Value;
using L = LaneBuilder;
using S = Value* const*;

// --- Shared pieces. Shift counts are taken modulo the width.

inline Value* count32(L& l, Value* count) { return l.ir.CreateAnd(count, l.splat(31)); }
inline Value* count64(L& l, Value* count, uint64_t mask = 63) {
  return l.ir.CreateAnd(l.ir.CreateZExt(count, l.u64()), l.splat64(mask));
}
// Of elements of 16 bits, or of what holds them.
inline Value* count16(L& l, Value* count) {
  return l.ir.CreateAnd(count, llvm::ConstantInt::get(count->getType(), 15));
}
inline Value* minimum(L& l, CmpInst::Predicate less, Value* a, Value* b) {
  return l.ir.CreateSelect(l.ir.CreateICmp(less, a, b), a, b);
}
template <CmpInst::Predicate kTakesFirst>
Value* pick(L& l, S s) {
  return minimum(l, kTakesFirst, s[0], s[1]);
}
template <CmpInst::Predicate kTakesFirst>
Value* pick3(L& l, S s) {
  return minimum(l, kTakesFirst, minimum(l, kTakesFirst, s[0], s[1]), s[2]);
}
template <CmpInst::Predicate kLess, CmpInst::Predicate kGreater>
Value* median(L& l, S s) {
  Value* low = minimum(l, kLess, s[0], s[1]);
  Value* high = minimum(l, kGreater, s[0], s[1]);
  return minimum(l, kGreater, low, minimum(l, kLess, high, s[2]));
}
inline Value* low24(L& l, Value* a) { return l.ir.CreateAnd(a, l.splat(0xffffff)); }
inline Value* sign24(L& l, Value* a) {
  return l.ir.CreateAShr(l.ir.CreateShl(a, l.splat(8)), l.splat(8));
}
inline Value* mul_hi(L& l, Value* a, Value* b, bool is_signed) {
  const auto extend = [&](Value* v) {
    return is_signed ? l.ir.CreateSExt(v, l.u64()) : l.ir.CreateZExt(v, l.u64());
  };
  Value* product = l.ir.CreateMul(extend(a), extend(b));
  return l.ir.CreateTrunc(l.ir.CreateLShr(product, l.splat64(32)), l.u32());
}
// --- Carries.

inline Value* add_carry_out(L& l, Value* a, Value* b) {
  Value* sum = l.ir.CreateAdd(a, b);
  l.mask = l.ir.CreateICmpULT(sum, a);
  return sum;
}
inline Value* sub_carry_out(L& l, Value* a, Value* b) {
  l.mask = l.ir.CreateICmpULT(a, b);
  return l.ir.CreateSub(a, b);
}
inline Value* add_carry(L& l, Value* a, Value* b, Value* carry) {
  Value* part = l.ir.CreateAdd(a, b);
  Value* sum = l.ir.CreateAdd(part, l.ir.CreateZExt(carry, l.u32()));
  l.mask = l.ir.CreateOr(l.ir.CreateICmpULT(part, a), l.ir.CreateICmpULT(sum, part));
  return sum;
}
inline Value* sub_borrow(L& l, Value* a, Value* b, Value* borrow) {
  Value* part = l.ir.CreateSub(a, b);
  Value* by = l.ir.CreateZExt(borrow, l.u32());
  l.mask = l.ir.CreateOr(l.ir.CreateICmpULT(a, b), l.ir.CreateICmpULT(part, by));
  return l.ir.CreateSub(part, by);
}
inline Value* mad_u64(L& l, S s) {
  Value* product = l.ir.CreateMul(l.ir.CreateZExt(s[0], l.u64()), l.ir.CreateZExt(s[1], l.u64()));
  Value* sum = l.ir.CreateAdd(product, s[2]);
  l.mask = l.ir.CreateICmpULT(sum, product);
  return sum;
}

// --- Bits.

inline Value* bfe_u32(L& l, S s) {
  Value* one = l.splat(1u);
  Value* mask = l.ir.CreateSub(l.ir.CreateShl(one, count32(l, s[2])), one);
  return l.ir.CreateAnd(l.ir.CreateLShr(s[0], count32(l, s[1])), mask);
}
inline Value* bfe_i32(L& l, S s) {
  Value* offset = count32(l, s[1]);
  Value* width = count32(l, s[2]);
  Value* end = l.ir.CreateAdd(offset, width);
  Value* cut = l.ir.CreateICmpUGE(end, l.splat(32u));
  Value* up = count32(l, l.ir.CreateSub(l.splat(32u), end));
  Value* down = count32(l, l.ir.CreateSub(l.splat(32u), width));
  Value* field = l.ir.CreateAShr(l.ir.CreateShl(s[0], up), down);
  Value* result = l.ir.CreateSelect(cut, l.ir.CreateAShr(s[0], offset), field);
  return l.ir.CreateSelect(l.ir.CreateICmpEQ(width, l.splat(0u)), l.splat(0u), result);
}
inline Value* funnel(L& l, S s, Value* count) {
  return l.ir.CreateIntrinsic(llvm::Intrinsic::fshr, {l.u32()}, {s[0], s[1], count});
}
template <llvm::Intrinsic::ID kCount>
Value* first_bit(L& l, Value* value) {
  Value* count = l.ir.CreateBinaryIntrinsic(kCount, value, l.ir.getFalse());
  return l.ir.CreateSelect(l.ir.CreateICmpEQ(value, l.splat(0u)), l.splat(~0u), count);
}
inline Value* byte_of(L& l, Value* value, uint32_t i) {
  return l.ir.CreateAnd(l.ir.CreateLShr(value, l.splat(8 * i)), l.splat(0xffu));
}
// Each byte of s[2] chooses a byte of {s[0], s[1]}, a sign, 0 or 0xff.
inline Value* perm_b32(L& l, S s) {
  Value* result = l.splat(0u);
  const auto has = [&](Value* value, uint32_t bit) {
    return l.ir.CreateICmpNE(l.ir.CreateAnd(value, l.splat(bit)), l.splat(0u));
  };
  for (uint32_t i = 0; i < 4; ++i) {
    Value* selector = byte_of(l, s[2], i);
    Value* from = l.ir.CreateSelect(has(selector, 4), s[0], s[1]);
    Value* shift = l.ir.CreateShl(l.ir.CreateAnd(selector, l.splat(3u)), l.splat(3u));
    Value* byte = l.ir.CreateAnd(l.ir.CreateLShr(from, shift), l.splat(0xffu));
    Value* word = l.ir.CreateSelect(has(selector, 2), s[0], s[1]);
    Value* bit = l.ir.CreateSelect(has(selector, 1), l.splat(31u), l.splat(15u));
    Value* sign = l.ir.CreateAnd(l.ir.CreateLShr(word, bit), l.splat(1u));
    Value* fixed =
        l.ir.CreateSelect(l.ir.CreateICmpEQ(selector, l.splat(12u)), l.splat(0u), l.splat(0xffu));
    Value* signs = l.ir.CreateMul(sign, l.splat(0xffu));
    Value* value = l.ir.CreateSelect(l.ir.CreateICmpULT(selector, l.splat(12u)), signs, fixed);
    value = l.ir.CreateSelect(l.ir.CreateICmpULT(selector, l.splat(8u)), byte, value);
    result = l.ir.CreateOr(result, l.ir.CreateShl(value, l.splat(8 * i)));
  }
  return result;
}
// The sum of the products of four bytes, and s[2].
template <bool kSigned>
Value* dot4(L& l, S s) {
  Value* sum = s[2];
  const auto byte = [&](Value* value, uint32_t i) {
    Value* up = l.ir.CreateShl(value, l.splat(24 - 8 * i));
    return kSigned ? l.ir.CreateAShr(up, l.splat(24u)) : l.ir.CreateLShr(up, l.splat(24u));
  };
  for (uint32_t i = 0; i < 4; ++i)
    sum = l.ir.CreateAdd(sum, l.ir.CreateMul(byte(s[0], i), byte(s[1], i)));
  return sum;
}
template <bool kSigned>
Value* dot8(L& l, S s) {
  Value* sum = s[2];
  const auto nibble = [&](Value* value, uint32_t i) {
    Value* up = l.ir.CreateShl(value, l.splat(28 - 4 * i));
    return kSigned ? l.ir.CreateAShr(up, l.splat(28u)) : l.ir.CreateLShr(up, l.splat(28u));
  };
  for (uint32_t i = 0; i < 8; ++i)
    sum = l.ir.CreateAdd(sum, l.ir.CreateMul(nibble(s[0], i), nibble(s[1], i)));
  return sum;
}
// s[0] and s[1] are pairs of halves.
template <bool kSigned>
Value* dot2(L& l, S s) {
  Value* sum = s[2];
  for (const bool high : {false, true}) {
    const auto half = [&](Value* pair) {
      Value* bits = l.ir.CreateBitCast(pair, l.u32());
      if (!high) bits = l.ir.CreateShl(bits, l.splat(16u));
      return kSigned ? l.ir.CreateAShr(bits, l.splat(16u)) : l.ir.CreateLShr(bits, l.splat(16u));
    };
    sum = l.ir.CreateAdd(sum, l.ir.CreateMul(half(s[0]), half(s[1])));
  }
  return sum;
}
// Bits of `mask` that belong to lanes below each; `first` is the lane of its lowest bit.
inline Value* lanes_below(L& l, S s, uint32_t first) {
  std::vector<uint32_t> numbers;
  for (unsigned i = 0; i < l.lanes; ++i) numbers.push_back(i);
  Value* lane = l.ir.CreateAdd(llvm::ConstantDataVector::get(l.ir.getContext(), numbers),
                               l.splat(l.first_lane));
  Value* from = l.ir.CreateSub(lane, l.splat(first));
  Value* below = l.ir.CreateSub(l.ir.CreateShl(l.splat(1u), count32(l, from)), l.splat(1u));
  Value* all = l.ir.CreateICmpSGE(from, l.splat(32u));
  Value* none = l.ir.CreateICmpSLT(from, l.splat(0u));
  below = l.ir.CreateSelect(all, l.splat(~0u), l.ir.CreateSelect(none, l.splat(0u), below));
  Value* bits = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, l.ir.CreateAnd(s[0], below));
  return l.ir.CreateAdd(s[1], bits);
}

}  // namespace wavetap::jit::parts
