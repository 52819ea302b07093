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

// The same number of elements as `like` has.
inline llvm::Type* as_many(Value* like, llvm::Type* element) {
  return llvm::VectorType::get(element, llvm::cast<llvm::VectorType>(like->getType()));
}
inline Value* to_single(L& l, Value* half) {
  return l.ir.CreateFPExt(half, as_many(half, l.ir.getFloatTy()));
}
inline Value* to_half(L& l, Value* single) {
  return l.ir.CreateFPTrunc(single, as_many(single, l.ir.getHalfTy()));
}

template <llvm::Intrinsic::ID kIntrinsic>
Value* unary(L& l, S s) {
  return l.ir.CreateUnaryIntrinsic(kIntrinsic, s[0]);
}
// llvm.minimum or llvm.maximum. They order zeros, as the engine's do; where a NaN is among the operands, they give NaN.
// But of halves on a host without arithmetic of them LLVM 19 makes a zero of a zero and a NaN: those are singles meanwhile.
inline Value* extreme(L& l, llvm::Intrinsic::ID which, Value* a, Value* b) {
  if (l.has_halves || !a->getType()->getScalarType()->isHalfTy())
    return l.ir.CreateBinaryIntrinsic(which, a, b);
  return to_half(l, l.ir.CreateBinaryIntrinsic(which, to_single(l, a), to_single(l, b)));
}
template <llvm::Intrinsic::ID kIntrinsic>
Value* number2(L& l, S s) {
  return extreme(l, kIntrinsic, s[0], s[1]);
}
template <llvm::Intrinsic::ID kFirst, llvm::Intrinsic::ID kSecond>
Value* number3(L& l, S s) {
  return extreme(l, kSecond, extreme(l, kFirst, s[0], s[1]), s[2]);
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
inline Value* fract(L& l, S s) {
  llvm::Type* type = s[0]->getType();
  Value* rest = l.ir.CreateFSub(s[0], l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, s[0]));
  Value* is_one = l.ir.CreateFCmpOGE(rest, llvm::ConstantFP::get(type, 1));
  const double below_one = type == l.f64() ? 0x1.fffffffffffffp-1 : 0x1.fffffep-1;
  return l.ir.CreateSelect(is_one, llvm::ConstantFP::get(type, below_one), rest);
}
inline Value* rcp_double(L& l, S s) {
  return l.ir.CreateFDiv(llvm::ConstantFP::get(l.f64(), 1), s[0]);
}
inline Value* rsq_double(L& l, S s) {
  Value* root = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, s[0]);
  return l.ir.CreateFDiv(llvm::ConstantFP::get(l.f64(), 1), root);
}
inline Value* floor_to_integer(L& l, S s) {
  Value* whole = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, s[0]);
  return l.ir.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {l.u32(), l.f32()}, {whole});
}
inline Value* nearest_to_integer(L& l, S s) {
  Value* sum =
      l.ir.CreateFAdd(l.ir.CreateFPExt(s[0], l.f64()), llvm::ConstantFP::get(l.f64(), 0.5));
  Value* whole = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, sum);
  return l.ir.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {l.u32(), l.f64()}, {whole});
}
// One product where the power of two is a normal number.
inline Value* ldexp_double(L& l, S s) {
  Value* biased = l.ir.CreateAdd(s[1], l.splat(1023u));
  Value* is_normal = l.ir.CreateICmpULT(l.ir.CreateSub(biased, l.splat(1u)), l.splat(2046u));
  l.doubts.push_back(l.ir.CreateNot(is_normal));
  Value* shifted = l.ir.CreateShl(l.ir.CreateZExt(biased, l.u64()), l.splat64(52));
  return l.ir.CreateFMul(s[0], l.ir.CreateBitCast(shifted, l.f64()));
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
    return extreme(l, llvm::Intrinsic::maximum, a, b);
  };
  Value* of_ab = larger(s[0], s[1]);
  Value* highest = larger(of_ab, s[2]);
  l.numbers.push_back(highest);
  Value* middle = l.ir.CreateSelect(l.ir.CreateFCmpOEQ(highest, s[1]), larger(s[0], s[2]), of_ab);
  return l.ir.CreateSelect(l.ir.CreateFCmpOEQ(highest, s[0]), larger(s[1], s[2]), middle);
}

}  // namespace wavetap::jit::parts
