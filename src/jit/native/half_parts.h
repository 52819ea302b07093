// What operations of halves are built of. They are the host's own where it has them; else LLVM makes
// singles of them and rounds, which is the same for everything but the fused multiply-add.
#pragma once

#include "jit/native/float_parts.h"

namespace wavetap::jit::parts {

// The product of halves is exact in single precision; the sum is rounded to odd there, so that the
// second rounding sees what was lost. emu/exec/float_ops.h has the same steps.
inline Value* fma_half(L& l, S s) {
  if (l.has_halves) return fma(l, s);
  llvm::IRBuilder<>& ir = l.ir;
  Value* product = ir.CreateFMul(to_single(l, s[0]), to_single(l, s[1]));
  Value* addend = to_single(l, s[2]);
  Value* sum = ir.CreateFAdd(product, addend);
  Value* rest = ir.CreateFSub(sum, product);
  Value* error =
      ir.CreateFAdd(ir.CreateFSub(product, ir.CreateFSub(sum, rest)), ir.CreateFSub(addend, rest));
  llvm::Type* type = as_many(sum, ir.getInt32Ty());
  const auto constant = [&](uint32_t value) { return llvm::ConstantInt::get(type, value); };
  Value* bits = ir.CreateBitCast(sum, type);
  Value* error_bits = ir.CreateBitCast(error, type);
  Value* magnitude = ir.CreateAnd(error_bits, constant(0x7fffffffu));
  Value* is_inexact = ir.CreateICmpULT(ir.CreateSub(magnitude, constant(1)), constant(0x7f7fffffu));
  Value* is_even = ir.CreateICmpEQ(ir.CreateAnd(bits, constant(1)), constant(0));
  Value* inward = ir.CreateICmpSLT(ir.CreateXor(bits, error_bits), constant(0));
  Value* step = ir.CreateSelect(inward, constant(~0u), constant(1));
  Value* odd = ir.CreateSelect(ir.CreateAnd(is_inexact, is_even), ir.CreateAdd(bits, step), bits);
  return to_half(l, ir.CreateBitCast(odd, sum->getType()));
}
inline Value* fma_to_half(L& l, S s) { return to_half(l, fma(l, s)); }
inline Value* mad_to_half(L& l, S s) { return to_half(l, mad(l, s)); }

inline Value* rcp_half(L& l, S s) {
  return l.ir.CreateFDiv(llvm::ConstantFP::get(s[0]->getType(), 1), s[0]);
}
inline Value* sqrt_half(L& l, S s) {
  return l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, s[0]);
}
inline Value* rsq_half(L& l, S s) {
  Value* wide = l.ir.CreateFPExt(to_single(l, s[0]), l.f64());
  Value* root = l.ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide);
  Value* result = l.ir.CreateFDiv(llvm::ConstantFP::get(l.f64(), 1), root);
  return to_half(l, l.ir.CreateFPTrunc(result, l.f32()));
}

template <llvm::Intrinsic::ID kIntrinsic>
Value* half_to_integer(L& l, S s) {
  Value* single = to_single(l, s[0]);
  Value* made = l.ir.CreateIntrinsic(kIntrinsic, {l.u16(), single->getType()}, {single});
  return l.ir.CreateZExt(made, l.u32());
}

// Two products of pairs of halves, added one after the other.
inline Value* dot2_f32(L& l, S s) {
  Value* sum = s[2];
  for (const bool high : {false, true}) {
    const auto half = [&](Value* pair) {
      std::vector<int> order;
      for (unsigned i = 0; i < l.lanes; ++i)
        order.push_back(static_cast<int>(2 * i + (high ? 1 : 0)));
      return to_single(l, l.ir.CreateShuffleVector(pair, order));
    };
    Value* const operands[] = {half(s[0]), half(s[1]), sum};
    sum = fma(l, operands);
  }
  return sum;
}

// Of a number; what is too large becomes the largest.
inline Value* half_toward_zero(L& l, Value* single) {
  Value* bits = l.ir.CreateBitCast(single, l.u32());
  Value* magnitude = l.ir.CreateAnd(bits, l.splat(0x7fffffffu));
  Value* normal = l.ir.CreateLShr(l.ir.CreateSub(magnitude, l.splat(0x38000000u)), l.splat(13u));
  Value* is_tiny = l.ir.CreateICmpULT(magnitude, l.splat(0x38800000u));
  Value* tiny = l.ir.CreateBitCast(l.ir.CreateSelect(is_tiny, magnitude, l.splat(0u)), l.f32());
  Value* units = l.ir.CreateFPToSI(l.ir.CreateFMul(tiny, l.splat_f32(0x1p24)), l.u32());
  Value* half = l.ir.CreateSelect(is_tiny, units, normal);
  half = l.ir.CreateSelect(l.ir.CreateICmpUGE(magnitude, l.splat(0x47800000u)), l.splat(0x7bffu),
                           half);
  half =
      l.ir.CreateSelect(l.ir.CreateICmpEQ(magnitude, l.splat(0x7f800000u)), l.splat(0x7c00u), half);
  Value* sign = l.ir.CreateAnd(l.ir.CreateLShr(bits, l.splat(16u)), l.splat(0x8000u));
  return l.ir.CreateOr(half, sign);
}
inline Value* pack_toward_zero(L& l, S s) {
  l.numbers.push_back(s[0]);
  l.numbers.push_back(s[1]);
  Value* high = l.ir.CreateShl(half_toward_zero(l, s[1]), l.splat(16u));
  return l.ir.CreateOr(half_toward_zero(l, s[0]), high);
}

}  // namespace wavetap::jit::parts
