// Exponential, logarithm, sine and cosine, and the reciprocal of a root: the series of emu/exec/vop_trans.cc, in double.
//
// Their errors are some 2^-50 of the result, whichever way products and sums are fused. Unless a
// result is near the middle between two singles, it rounds to what the handler's does; near it the
// handler is asked.
#pragma once

#include "jit/native/half_parts.h"

#if defined(__aarch64__)
#include "llvm/IR/IntrinsicsAArch64.h"
#endif

namespace wavetap::jit::parts {

inline Value* wide_constant(L& l, double value) { return llvm::ConstantFP::get(l.f64(), value); }
inline Value* fused(L& l, Value* a, Value* b, Value* c) {
  Value* const operands[] = {a, b, c};
  return fma(l, operands);
}
inline Value* fused(L& l, Value* a, double b, double c) {
  return fused(l, a, wide_constant(l, b), wide_constant(l, c));
}

// The single nearest to `value`, unless that is in doubt.
inline Value* round_surely(L& l, Value* value, Value* matters = nullptr) {
  constexpr uint32_t kDropped = 29;  // bits
  constexpr uint32_t kMargin = 128;
  Value* bits = l.ir.CreateTrunc(l.ir.CreateBitCast(value, l.u64()), l.u32());
  Value* dropped = l.ir.CreateAnd(bits, l.splat((1u << kDropped) - 1));
  Value* from = l.ir.CreateSub(dropped, l.splat((1u << (kDropped - 1)) - kMargin));
  Value* doubt = l.ir.CreateICmpULT(from, l.splat(2 * kMargin));
  l.doubts.push_back(matters == nullptr ? doubt : l.ir.CreateAnd(doubt, matters));
  return l.ir.CreateFPTrunc(value, l.f32());
}

// A NaN goes through and makes the result NaN.
inline Value* exp2_series(L& l, Value* power) {
  llvm::IRBuilder<>& ir = l.ir;
  // A sum of this size has no fraction, and its last bit is the unit.
  Value* to_integer = wide_constant(l, 0x1.8p52);
  Value* low = l.splat_f32(-127);
  Value* high = l.splat_f32(128);
  Value* inside = ir.CreateSelect(ir.CreateFCmpOLT(power, low), low, power);
  inside = ir.CreateSelect(ir.CreateFCmpOGT(inside, high), high, inside);
  Value* x = ir.CreateFPExt(inside, l.f64());
  Value* shifted = ir.CreateFAdd(x, to_integer);
  Value* rest = ir.CreateFSub(x, ir.CreateFSub(shifted, to_integer));
  Value* t = ir.CreateFMul(rest, wide_constant(l, 0.693147180559945309417232121458));
  Value* t2 = ir.CreateFMul(t, t);
  Value* t4 = ir.CreateFMul(t2, t2);
  Value* a = fused(l, t2, fused(l, t, 1.0 / 6, 0.5), ir.CreateFAdd(t, wide_constant(l, 1)));
  Value* b = fused(l, t2, fused(l, t, 1.0 / 5040, 1.0 / 720), fused(l, t, 1.0 / 120, 1.0 / 24));
  Value* c = fused(l, t2, fused(l, t, 1.0 / 39916800, 1.0 / 3628800),
                   fused(l, t, 1.0 / 362880, 1.0 / 40320));
  Value* d = fused(l, t, 1.0 / 6227020800, 1.0 / 479001600);
  Value* series = fused(l, t4, fused(l, t4, fused(l, t4, d, c), b), a);
  Value* exponent = ir.CreateShl(ir.CreateBitCast(shifted, l.u64()), l.splat64(52));
  Value* result = ir.CreateAdd(ir.CreateBitCast(series, l.u64()), exponent);
  Value* single = round_surely(l, ir.CreateBitCast(result, l.f64()));
  // The exponent's bits of a NaN are anything.
  Value* is_number = ir.CreateFCmpORD(power, power);
  return ir.CreateSelect(is_number, single, power);
}

inline Value* log2_series(L& l, Value* number) {
  llvm::IRBuilder<>& ir = l.ir;
  // number = 2^exponent * z, z of [sqrt(1/2), sqrt(2)).
  Value* root_half = l.splat(0x3f3504f3u);
  Value* bits = ir.CreateBitCast(number, l.u32());
  Value* above = ir.CreateSub(bits, root_half);
  Value* exponent = ir.CreateSIToFP(ir.CreateAShr(above, l.splat(23u)), l.f64());
  Value* fraction = ir.CreateAdd(ir.CreateAnd(above, l.splat(0x007fffffu)), root_half);
  Value* z = ir.CreateFPExt(ir.CreateBitCast(fraction, l.f32()), l.f64());
  Value* one = wide_constant(l, 1);
  Value* s = ir.CreateFDiv(ir.CreateFSub(z, one), ir.CreateFAdd(z, one));
  Value* u = ir.CreateFMul(s, s);
  Value* u2 = ir.CreateFMul(u, u);
  Value* u4 = ir.CreateFMul(u2, u2);
  Value* a = fused(l, u2, fused(l, u, 1.0 / 7, 1.0 / 5), fused(l, u, 1.0 / 3, 1.0));
  Value* b = fused(l, u2, fused(l, u, 1.0 / 15, 1.0 / 13), fused(l, u, 1.0 / 11, 1.0 / 9));
  Value* c = fused(l, u2, fused(l, u, 1.0 / 23, 1.0 / 21), fused(l, u, 1.0 / 19, 1.0 / 17));
  Value* series = fused(l, u4, fused(l, u4, c, b), a);
  Value* scaled = ir.CreateFMul(s, wide_constant(l, 2.88539008177792681471984936200378));
  Value* result = fused(l, scaled, series, exponent);
  // Zeros and denormals give minus infinity. Infinity, NaN and what is negative is in doubt.
  Value* is_zero = ir.CreateICmpEQ(ir.CreateAnd(bits, l.splat(0x7f800000u)), l.splat(0u));
  Value* is_number =
      ir.CreateICmpULT(ir.CreateSub(bits, l.splat(0x00800000u)), l.splat(0x7f000000u));
  Value* single = round_surely(l, result, is_number);
  l.doubts.push_back(ir.CreateNot(ir.CreateOr(is_zero, is_number)));
  Value* least = ir.CreateBitCast(l.splat(0xff800000u), l.f32());
  return ir.CreateSelect(is_zero, least, single);
}

// sin(2 pi * turns), turns of [-1/4, 1/4].
inline Value* sine_series(L& l, Value* turns) {
  llvm::IRBuilder<>& ir = l.ir;
  Value* x = ir.CreateFMul(turns, wide_constant(l, 6.283185307179586476925286766559));
  Value* square = ir.CreateFMul(x, x);
  Value* fourth = ir.CreateFMul(square, square);
  Value* sum = wide_constant(l, -1.0 / 121645100408832000);
  sum = fused(l, sum, fourth, fused(l, square, 1.0 / 355687428096000, -1.0 / 1307674368000));
  sum = fused(l, sum, fourth, fused(l, square, 1.0 / 6227020800, -1.0 / 39916800));
  sum = fused(l, sum, fourth, fused(l, square, 1.0 / 362880, -1.0 / 5040));
  sum = fused(l, sum, fourth, fused(l, square, 1.0 / 120, -1.0 / 6));
  return fused(l, x, ir.CreateFMul(sum, square), x);
}

struct Turns {
  Value* rest;    // a quarter at most
  Value* turned;  // sign bit: an odd number of half turns was taken off
};
// `magnitude`: bits of the absolute value. More than 256, and what is no number, is in doubt.
inline Turns reduce_turns(L& l, Value* magnitude) {
  llvm::IRBuilder<>& ir = l.ir;
  Value* to_integer = l.splat_f32(0x1.8p23);
  Value* turns = ir.CreateBitCast(magnitude, l.f32());
  Value* shifted = ir.CreateFAdd(ir.CreateFMul(turns, l.splat_f32(2)), to_integer);
  Value* halves = ir.CreateFMul(ir.CreateFSub(shifted, to_integer), l.splat_f32(0.5));
  l.doubts.push_back(ir.CreateICmpUGT(magnitude, l.splat(0x43800000u)));
  Value* turned = ir.CreateShl(ir.CreateBitCast(shifted, l.u32()), l.splat(31u));
  return {ir.CreateFSub(turns, halves), turned};
}

inline Value* sine_of(L& l, Value* revolutions) {
  Value* bits = l.ir.CreateBitCast(revolutions, l.u32());
  const Turns turns = reduce_turns(l, l.ir.CreateAnd(bits, l.splat(0x7fffffffu)));
  Value* single = round_surely(l, sine_series(l, l.ir.CreateFPExt(turns.rest, l.f64())));
  Value* sine = l.ir.CreateXor(l.ir.CreateBitCast(single, l.u32()), turns.turned);
  Value* is_zero = l.ir.CreateFCmpOEQ(turns.rest, l.splat_f32(0));
  sine = l.ir.CreateSelect(is_zero, l.splat(0u), sine);
  sine = l.ir.CreateXor(sine, l.ir.CreateAnd(bits, l.splat(0x80000000u)));
  return l.ir.CreateBitCast(sine, l.f32());
}
inline Value* cosine_of(L& l, Value* revolutions) {
  Value* bits = l.ir.CreateBitCast(revolutions, l.u32());
  const Turns turns = reduce_turns(l, l.ir.CreateAnd(bits, l.splat(0x7fffffffu)));
  Value* rest = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, turns.rest);
  Value* from_zero = l.ir.CreateFSub(wide_constant(l, 0.25), l.ir.CreateFPExt(rest, l.f64()));
  Value* single = round_surely(l, sine_series(l, from_zero));
  Value* cosine = l.ir.CreateXor(l.ir.CreateBitCast(single, l.u32()), turns.turned);
  return l.ir.CreateBitCast(cosine, l.f32());
}

#if defined(__aarch64__)
// The host's estimate of 1 / sqrt(number), made better twice: 22 bits of it are right.
inline Value* estimated_rsq(L& l, Value* number) {
  llvm::IRBuilder<>& ir = l.ir;
  constexpr unsigned kHost = 4;
  llvm::Type* type = llvm::FixedVectorType::get(ir.getFloatTy(), kHost);
  Value* all = llvm::PoisonValue::get(l.f32());
  for (unsigned first = 0; first < l.lanes; first += kHost) {
    std::vector<int> own;
    for (unsigned i = 0; i < kHost; ++i) own.push_back(static_cast<int>(first + i));
    Value* part = ir.CreateShuffleVector(number, own);
    Value* y = ir.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_frsqrte, {type}, {part});
    for (int round = 0; round < 2; ++round) {
      Value* step = ir.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_frsqrts, {type},
                                       {ir.CreateFMul(part, y), y});
      y = ir.CreateFMul(y, step);
    }
    if (l.lanes == kHost) return y;
    std::vector<int> wide(l.lanes, -1);
    std::vector<int> chosen;
    for (unsigned i = 0; i < kHost; ++i) wide[first + i] = static_cast<int>(i);
    for (unsigned i = 0; i < l.lanes; ++i)
      chosen.push_back(static_cast<int>(i >= first && i < first + kHost ? l.lanes + i : i));
    all = ir.CreateShuffleVector(all, ir.CreateShuffleVector(y, wide), chosen);
  }
  return all;
}
// y * (1 - e)^-1/2, where e is what y * y * number lacks of 1: roots and quotients take the host tens of cycles. Without
// doubles, which take as many registers more: e is what two fused products make of it, and what is left out of the
// result, with what e is off by, is less than kError of e. A result that comes out another one by that much is in
// doubt: 27 of all singles from 1 to 4, which were tried. Zeros and denormals become infinity, whatever comes of them
// here; infinity and what is negative become NaN.
inline Value* rsq(L& l, S s) {
  constexpr float kError = 0x1p-43f;
  llvm::IRBuilder<>& ir = l.ir;
  Value* size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, s[0]);
  Value* is_zero = ir.CreateFCmpOLT(size, l.splat_f32(0x1p-126f));
  Value* y = estimated_rsq(l, s[0]);
  Value* root = ir.CreateFMul(s[0], y);
  Value* e = fused(l, ir.CreateFNeg(root), y, l.splat_f32(1));
  Value* rounded = fused(l, ir.CreateFNeg(s[0]), y, root);  // off the root
  e = fused(l, rounded, y, e);
  Value* half = ir.CreateFMul(y, l.splat_f32(0.5));
  Value* result = fused(l, half, ir.CreateFAdd(e, l.splat_f32(kError)), y);
  Value* other = fused(l, half, ir.CreateFSub(e, l.splat_f32(kError)), y);
  l.doubts.push_back(ir.CreateAnd(ir.CreateFCmpUNE(result, other), ir.CreateNot(is_zero)));
  Value* sign = ir.CreateAnd(ir.CreateBitCast(s[0], l.u32()), l.splat(0x80000000u));
  Value* infinite = ir.CreateOr(sign, l.splat(0x7f800000u));
  return ir.CreateSelect(is_zero, ir.CreateBitCast(infinite, l.f32()), result);
}
#else
inline Value* rsq(L& l, S s) {
  Value* wide = l.ir.CreateFPExt(flush(l, s[0]), l.f64());
  Value* root = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide);
  Value* result = l.ir.CreateFDiv(llvm::ConstantFP::get(l.f64(), 1), root);
  return flush(l, l.ir.CreateFPTrunc(result, l.f32()));
}
#endif

inline Value* exp2_f32(L& l, S s) { return flush(l, exp2_series(l, s[0])); }
inline Value* log2_f32(L& l, S s) { return log2_series(l, s[0]); }
inline Value* sine_f32(L& l, S s) { return flush(l, sine_of(l, flush(l, s[0]))); }
inline Value* cosine_f32(L& l, S s) { return cosine_of(l, flush(l, s[0])); }
inline Value* exp2_f16(L& l, S s) { return to_half(l, exp2_series(l, to_single(l, s[0]))); }
inline Value* log2_f16(L& l, S s) { return to_half(l, log2_series(l, to_single(l, s[0]))); }
inline Value* sine_f16(L& l, S s) { return to_half(l, sine_of(l, to_single(l, s[0]))); }
inline Value* cosine_f16(L& l, S s) { return to_half(l, cosine_of(l, to_single(l, s[0]))); }

}  // namespace wavetap::jit::parts
