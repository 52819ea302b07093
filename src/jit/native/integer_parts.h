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
// By a constant the halves are done one by one: what nobody asks for falls away, and they need not be joined.
inline Value* shift_left64(L& l, Value* wide, Value* count) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(count);
  const auto* same = constant == nullptr
                         ? nullptr
                         : llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
  const uint64_t by = same == nullptr ? 0 : same->getZExtValue() % 64;
  if (by == 0 || by > 31) return l.ir.CreateShl(wide, count64(l, count));
  Value* low = l.half_of(wide, false);
  const auto left = [&](Value* half) { return l.ir.CreateShl(half, by); };
  return l.join(left(low),
                l.ir.CreateOr(left(l.half_of(wide, true)), l.ir.CreateLShr(low, 32 - by)));
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
inline Value* mad_i64(L& l, S s) {
  Value* product = l.ir.CreateMul(l.ir.CreateSExt(s[0], l.u64()), l.ir.CreateSExt(s[1], l.u64()));
  Value* sum = l.ir.CreateAdd(product, s[2]);
  Value* overflow = l.ir.CreateAnd(l.ir.CreateXor(product, sum), l.ir.CreateXor(s[2], sum));
  l.mask = l.ir.CreateICmpSLT(overflow, l.splat64(0));
  return sum;
}
inline Value* multiply_add(L& l, Value* a, Value* b, Value* c) {
  return l.ir.CreateAdd(l.ir.CreateMul(a, b), c);
}
// One limit of the first two, then the other with the third.
template <CmpInst::Predicate kFirst, CmpInst::Predicate kSecond>
Value* pick_twice(L& l, S s) {
  return minimum(l, kSecond, minimum(l, kFirst, s[0], s[1]), s[2]);
}
// Both limited to 16 bits, side by side.
template <bool kSigned>
Value* pack_limited(L& l, S s) {
  const auto limited = [&](Value* value) {
    if (!kSigned) return minimum(l, CmpInst::ICMP_ULT, value, l.splat(0xffffu));
    value = minimum(l, CmpInst::ICMP_SLT, value, l.splat(0x7fffu));
    return minimum(l, CmpInst::ICMP_SGT, value, l.splat(0xffff8000u));
  };
  Value* low = l.ir.CreateAnd(limited(s[0]), l.splat(0xffffu));
  return l.ir.CreateOr(low, l.ir.CreateShl(limited(s[1]), l.splat(16u)));
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
// The sum of s[2] and the products of what fits into 32 bits: two halves, four bytes or eight nibbles.
template <uint32_t kBits, bool kSigned>
Value* dot(L& l, S s) {
  constexpr uint32_t kRest = 32 - kBits;
  const auto part = [&](Value* whole, uint32_t first) {
    Value* bits = l.ir.CreateShl(l.ir.CreateBitCast(whole, l.u32()), l.splat(kRest - first));
    return kSigned ? l.ir.CreateAShr(bits, l.splat(kRest)) : l.ir.CreateLShr(bits, l.splat(kRest));
  };
  Value* sum = s[2];
  for (uint32_t first = 0; first < 32; first += kBits)
    sum = l.ir.CreateAdd(sum, l.ir.CreateMul(part(s[0], first), part(s[1], first)));
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
