// The same for floating-point operations, and for those that convert.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/native/integer_parts.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit::parts {

using llvm::CmpInst;
using llvm::Value;
using L = LaneBuilder;
using S = Value* const*;

template <llvm::Intrinsic::ID kIntrinsic>
Value* unary(L& l, S s) {
  return l.ir.CreateUnaryIntrinsic(kIntrinsic, s[0]);
}
// The engine's minimum and maximum order zeros, as these do; where a NaN is among the operands,
// these give NaN.
template <llvm::Intrinsic::ID kIntrinsic>
Value* number2(L& l, S s) {
  return l.ir.CreateBinaryIntrinsic(kIntrinsic, s[0], s[1]);
}
template <llvm::Intrinsic::ID kFirst, llvm::Intrinsic::ID kSecond>
Value* number3(L& l, S s) {
  return l.ir.CreateBinaryIntrinsic(kSecond, l.ir.CreateBinaryIntrinsic(kFirst, s[0], s[1]), s[2]);
}
inline Value* fma(L& l, S s) {
  return l.ir.CreateIntrinsic(llvm::Intrinsic::fma, {s[0]->getType()}, {s[0], s[1], s[2]});
}
inline Value* fadd(L& l, S s) { return l.ir.CreateFAdd(s[0], s[1]); }
inline Value* fsub(L& l, S s) { return l.ir.CreateFSub(s[0], s[1]); }
inline Value* fsubrev(L& l, S s) { return l.ir.CreateFSub(s[1], s[0]); }
inline Value* fmul(L& l, S s) { return l.ir.CreateFMul(s[0], s[1]); }

// Denormals become zeros of the same sign.
inline Value* flush(L& l, Value* value) {
  Value* bits = l.ir.CreateBitCast(value, l.u32());
  Value* exponent = l.ir.CreateAnd(bits, l.splat(0x7f800000));
  Value* is_small = l.ir.CreateICmpEQ(exponent, l.splat(0u));
  Value* zero = l.ir.CreateAnd(bits, l.splat(0x80000000));
  return l.ir.CreateBitCast(l.ir.CreateSelect(is_small, zero, bits), l.f32());
}
inline Value* mad(L& l, S s) {
  Value* product = flush(l, l.ir.CreateFMul(flush(l, s[0]), flush(l, s[1])));
  return flush(l, l.ir.CreateFAdd(product, flush(l, s[2])));
}
// One rounding in single precision: that in double first, as the handler has it, changes nothing.
inline Value* rcp(L& l, S s) { return flush(l, l.ir.CreateFDiv(l.splat_f32(1), flush(l, s[0]))); }
inline Value* sqrt(L& l, S s) {
  return l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, flush(l, s[0]));
}
inline Value* rsq(L& l, S s) {
  Value* wide = l.ir.CreateFPExt(flush(l, s[0]), l.f64());
  Value* root = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide);
  Value* result = l.ir.CreateFDiv(llvm::ConstantFP::get(l.f64(), 1), root);
  return flush(l, l.ir.CreateFPTrunc(result, l.f32()));
}
inline Value* fract(L& l, S s) {
  Value* rest = l.ir.CreateFSub(s[0], l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, s[0]));
  Value* one = l.splat_f32(1);
  return l.ir.CreateSelect(l.ir.CreateFCmpOGE(rest, one), l.splat_f32(0x1.fffffep-1), rest);
}
inline Value* ldexp(L& l, S s) {
  Value* low = l.splat(static_cast<uint32_t>(-400));
  Value* exponent = minimum(l, CmpInst::ICMP_SGT, s[1], low);
  exponent = minimum(l, CmpInst::ICMP_SLT, exponent, l.splat(400u));
  Value* biased = l.ir.CreateSExt(l.ir.CreateAdd(exponent, l.splat(1023u)), l.u64());
  Value* scale = l.ir.CreateBitCast(l.ir.CreateShl(biased, l.splat64(52)), l.f64());
  Value* product = l.ir.CreateFMul(l.ir.CreateFPExt(s[0], l.f64()), scale);
  return l.ir.CreateFPTrunc(product, l.f32());
}
template <unsigned kByte>
Value* from_byte(L& l, S s) {
  Value* byte = l.ir.CreateAnd(l.ir.CreateLShr(s[0], l.splat(8 * kByte)), l.splat(0xff));
  return l.ir.CreateUIToFP(byte, l.f32());
}
template <llvm::Intrinsic::ID kIntrinsic>
Value* to_integer(L& l, S s) {
  return l.ir.CreateIntrinsic(kIntrinsic, {l.u32(), s[0]->getType()}, {s[0]});
}
// The middle one. Zeros compare equal here, as they do in the handler, whose steps these are.
inline Value* median_float(L& l, S s) {
  const auto larger = [&](Value* a, Value* b) {
    return l.ir.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, b);
  };
  Value* of_ab = larger(s[0], s[1]);
  Value* highest = larger(of_ab, s[2]);
  l.numbers.push_back(highest);
  Value* middle = l.ir.CreateSelect(l.ir.CreateFCmpOEQ(highest, s[1]), larger(s[0], s[2]), of_ab);
  return l.ir.CreateSelect(l.ir.CreateFCmpOEQ(highest, s[0]), larger(s[1], s[2]), middle);
}

// --- Division: ordinary numbers, where nothing is to be scaled and no special case set right; all
// --- else is the handlers'.

inline Value* exponent_field(L& l, Value* bits) {
  return l.ir.CreateAnd(l.ir.CreateLShr(bits, l.splat(23u)), l.splat(0xffu));
}
inline Value* is_within(L& l, Value* value, uint32_t first, uint32_t last) {
  return l.ir.CreateICmpULE(l.ir.CreateSub(value, l.splat(first)), l.splat(last - first));
}
inline Value* div_scale(L& l, S s) {
  Value* d = exponent_field(l, l.ir.CreateBitCast(s[1], l.u32()));
  Value* n = exponent_field(l, l.ir.CreateBitCast(s[2], l.u32()));
  Value* plain = l.ir.CreateAnd(is_within(l, d, 1, 252), is_within(l, n, 24, 254));
  Value* apart = l.ir.CreateSub(n, d);
  plain = l.ir.CreateAnd(plain, is_within(l, apart, static_cast<uint32_t>(-125), 95));
  l.doubts.push_back(l.ir.CreateNot(plain));
  l.mask = llvm::Constant::getNullValue(l.vector_of(l.ir.getInt1Ty()));
  return s[0];
}
inline Value* div_fmas(L& l, S s) {
  l.doubts.push_back(s[3]);
  return fma(l, s);
}
inline Value* div_fixup(L& l, S s) {
  Value* q = l.ir.CreateAnd(l.ir.CreateBitCast(s[0], l.u32()), l.splat(0x7fffffffu));
  Value* d = l.ir.CreateBitCast(s[1], l.u32());
  Value* n = l.ir.CreateBitCast(s[2], l.u32());
  const auto is_finite = [&](Value* bits) {
    return is_within(l, l.ir.CreateAnd(bits, l.splat(0x7fffffffu)), 1, 0x7f7fffff);
  };
  Value* apart = l.ir.CreateSub(exponent_field(l, n), exponent_field(l, d));
  Value* plain = l.ir.CreateAnd(is_finite(d), is_finite(n));
  plain = l.ir.CreateAnd(plain, l.ir.CreateICmpSGE(apart, l.splat(static_cast<uint32_t>(-150))));
  plain = l.ir.CreateAnd(plain, l.ir.CreateICmpULE(q, l.splat(0x7f800000u)));
  l.doubts.push_back(l.ir.CreateNot(plain));
  Value* sign = l.ir.CreateAnd(l.ir.CreateXor(n, d), l.splat(0x80000000u));
  return l.ir.CreateBitCast(l.ir.CreateOr(q, sign), l.f32());
}

// --- Classes, as v_cmp_class counts them.

inline Value* class_f32(L& l, S s) {
  Value* magnitude = l.ir.CreateAnd(s[0], l.splat(0x7fffffffu));
  Value* is_negative = l.ir.CreateICmpSLT(s[0], l.splat(0u));
  const auto below = [&](uint32_t limit) { return l.ir.CreateICmpULT(magnitude, l.splat(limit)); };
  const auto by_sign = [&](uint32_t negative, uint32_t positive) {
    return l.ir.CreateSelect(is_negative, l.splat(1u << negative), l.splat(1u << positive));
  };
  Value* found = l.ir.CreateSelect(below(0x7fc00000), l.splat(1u), l.splat(2u));
  found = l.ir.CreateSelect(below(0x7f800001), by_sign(2, 9), found);
  found = l.ir.CreateSelect(below(0x7f800000), by_sign(3, 8), found);
  found = l.ir.CreateSelect(below(0x00800000), by_sign(4, 7), found);
  found = l.ir.CreateSelect(below(1), by_sign(5, 6), found);
  l.mask = l.ir.CreateICmpNE(l.ir.CreateAnd(found, s[1]), l.splat(0u));
  return nullptr;
}

}  // namespace wavetap::jit::parts
