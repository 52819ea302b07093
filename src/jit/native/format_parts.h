// Operations that take floating-point numbers apart: exponents, classes, the steps of a division.
#pragma once

#include "jit/native/float_parts.h"

namespace wavetap::jit::parts {

struct Format {
  unsigned bits;      // of an element as it is worked on: halves are in 32
  unsigned mantissa;  // bits
  unsigned exponent;  // bits
  int bias;
};
inline constexpr Format kHalf{32, 10, 5, 15};
inline constexpr Format kSingle{32, 23, 8, 127};
inline constexpr Format kDouble{64, 52, 11, 1023};

// A value's bits, and constants of their type.
template <const Format& kFormat>
struct Taken {
  L& l;

  llvm::Type* type() const { return kFormat.bits == 64 ? l.u64() : l.u32(); }
  llvm::Type* number_type() const { return kFormat.bits == 64 ? l.f64() : l.f32(); }
  Value* constant(uint64_t value) const { return llvm::ConstantInt::get(type(), value); }
  Value* bits(Value* number) const { return l.ir.CreateBitCast(number, type()); }
  Value* number(Value* bits) const { return l.ir.CreateBitCast(bits, number_type()); }

  static constexpr uint64_t kSign = uint64_t{1} << (kFormat.mantissa + kFormat.exponent);
  static constexpr uint64_t kInfinity = ((uint64_t{1} << kFormat.exponent) - 1) << kFormat.mantissa;
  static constexpr uint64_t kLeastNormal = uint64_t{1} << kFormat.mantissa;

  Value* magnitude(Value* bits) const { return l.ir.CreateAnd(bits, constant(kSign - 1)); }
  // The exponent as it is stored.
  Value* field(Value* bits) const {
    return l.ir.CreateLShr(magnitude(bits), constant(kFormat.mantissa));
  }
  Value* is_within(Value* value, int64_t first, int64_t last) const {
    Value* from = l.ir.CreateSub(value, constant(static_cast<uint64_t>(first)));
    return l.ir.CreateICmpULE(from, constant(static_cast<uint64_t>(last - first)));
  }
  Value* is_finite(Value* bits) const {
    return is_within(magnitude(bits), 1, static_cast<int64_t>(kInfinity) - 1);
  }
};

// --- Division: ordinary numbers, where nothing is to be scaled and no special case set right. Careful strips
// --- of singles have zeros and infinities as well; all else is the handlers'. emu/exec/vop_div.cc has the limits.

// What div_scale makes of a zero, and of an infinite denominator.
struct UnscaledParts {
  Value* has_zero;
  Value* by_infinity;
};
inline UnscaledParts find_unscaled(L& l, const Taken<kSingle>& taken, S s) {
  const auto is = [&](Value* number, uint64_t what) {
    return l.ir.CreateICmpEQ(taken.magnitude(taken.bits(number)), taken.constant(what));
  };
  Value* has_zero = l.ir.CreateOr(is(s[1], 0), is(s[2], 0));
  Value* is_below =
      l.ir.CreateICmpULT(taken.magnitude(taken.bits(s[2])), taken.constant(taken.kInfinity));
  Value* by_infinity = l.ir.CreateAnd(is(s[1], taken.kInfinity), is_below);
  return {has_zero, l.ir.CreateAnd(by_infinity, l.ir.CreateNot(has_zero))};
}
template <const Format& kFormat>
Value* div_scale(L& l, S s) {
  const Taken<kFormat> taken{l};
  constexpr bool kWide = kFormat.bits == 64;
  constexpr int kLast = (1 << kFormat.exponent) - 1;
  Value* d = taken.field(taken.bits(s[1]));
  Value* n = taken.field(taken.bits(s[2]));
  Value* plain = l.ir.CreateAnd(taken.is_within(d, 1, kLast - 3),
                                taken.is_within(n, kWide ? 54 : 24, kLast - 1));
  Value* apart = l.ir.CreateSub(n, d);
  plain = l.ir.CreateAnd(plain, taken.is_within(apart, kWide ? -1021 : -125, kWide ? 767 : 95));
  l.mask = llvm::Constant::getNullValue(l.vector_of(l.ir.getInt1Ty()));
  Value* result = s[0];
  if constexpr (!kWide)
    if (l.is_careful) {
      const UnscaledParts unscaled = find_unscaled(l, taken, s);
      plain = l.ir.CreateOr(plain, l.ir.CreateOr(unscaled.has_zero, unscaled.by_infinity));
      l.mask = unscaled.by_infinity;
      constexpr uint64_t kNan = Taken<kFormat>::kInfinity | Taken<kFormat>::kLeastNormal >> 1;
      result = taken.number(
          l.ir.CreateSelect(unscaled.has_zero, taken.constant(kNan), taken.bits(result)));
    }
  l.doubts.push_back(l.ir.CreateNot(plain));
  return result;
}
inline Value* div_fmas(L& l, S s) {
  Value* result = fma(l, s);
  // Scaled or not, a NaN is one.
  Value* is_number = l.is_careful ? l.ir.CreateFCmpORD(result, result) : nullptr;
  l.doubts.push_back(is_number == nullptr ? s[3] : l.ir.CreateAnd(s[3], is_number));
  return result;
}
// All but NaNs.
inline Value* div_fixup_careful(L& l, S s) {
  const Taken<kSingle> taken{l};
  Value* infinity = taken.constant(taken.kInfinity);
  Value* zero = taken.constant(0);
  Value* q = taken.magnitude(taken.bits(s[0]));
  Value* d = taken.magnitude(taken.bits(s[1]));
  Value* n = taken.magnitude(taken.bits(s[2]));
  const auto both = [&](Value* what) {
    return l.ir.CreateAnd(l.ir.CreateICmpEQ(d, what), l.ir.CreateICmpEQ(n, what));
  };
  const auto either = [&](Value* of_d, Value* of_n) {
    return l.ir.CreateOr(l.ir.CreateICmpEQ(d, of_d), l.ir.CreateICmpEQ(n, of_n));
  };
  Value* apart = l.ir.CreateSub(taken.field(n), taken.field(d));
  Value* underflows = l.ir.CreateICmpSLT(apart, taken.constant(static_cast<uint64_t>(-150)));
  Value* made = l.ir.CreateSelect(l.ir.CreateICmpULE(q, infinity), q, infinity);
  made = l.ir.CreateSelect(l.ir.CreateOr(underflows, either(infinity, zero)), zero, made);
  made = l.ir.CreateSelect(either(zero, infinity), infinity, made);
  Value* sign = l.ir.CreateAnd(l.ir.CreateXor(taken.bits(s[1]), taken.bits(s[2])),
                               taken.constant(taken.kSign));
  constexpr uint64_t kInvalid =
      Taken<kSingle>::kSign | Taken<kSingle>::kInfinity | Taken<kSingle>::kLeastNormal >> 1;
  l.doubts.push_back(
      l.ir.CreateOr(l.ir.CreateICmpUGT(d, infinity), l.ir.CreateICmpUGT(n, infinity)));
  return taken.number(l.ir.CreateSelect(l.ir.CreateOr(both(zero), both(infinity)),
                                        taken.constant(kInvalid), l.ir.CreateOr(made, sign)));
}
template <const Format& kFormat>
Value* div_fixup(L& l, S s) {
  if (kFormat.bits == 32 && l.is_careful) return div_fixup_careful(l, s);
  const Taken<kFormat> taken{l};
  Value* q = taken.magnitude(taken.bits(s[0]));
  Value* d = taken.bits(s[1]);
  Value* n = taken.bits(s[2]);
  Value* apart = l.ir.CreateSub(taken.field(n), taken.field(d));
  const int64_t underflow = kFormat.bits == 64 ? -1075 : -150;
  Value* plain = l.ir.CreateAnd(taken.is_finite(d), taken.is_finite(n));
  plain = l.ir.CreateAnd(
      plain, l.ir.CreateICmpSGE(apart, taken.constant(static_cast<uint64_t>(underflow))));
  plain = l.ir.CreateAnd(plain, l.ir.CreateICmpULE(q, taken.constant(taken.kInfinity)));
  l.doubts.push_back(l.ir.CreateNot(plain));
  Value* sign = l.ir.CreateAnd(l.ir.CreateXor(n, d), taken.constant(taken.kSign));
  return taken.number(l.ir.CreateOr(q, sign));
}

// --- Classes, as v_cmp_class counts them. s[0] are bits.

template <const Format& kFormat>
Value* class_of(L& l, S s) {
  const Taken<kFormat> taken{l};
  Value* magnitude = taken.magnitude(s[0]);
  Value* sign = l.ir.CreateAnd(s[0], taken.constant(taken.kSign));
  Value* is_negative = l.ir.CreateICmpNE(sign, taken.constant(0));
  const auto below = [&](uint64_t limit) {
    return l.ir.CreateICmpULT(magnitude, taken.constant(limit));
  };
  const auto by_sign = [&](uint32_t negative, uint32_t positive) {
    return l.ir.CreateSelect(is_negative, l.splat(1u << negative), l.splat(1u << positive));
  };
  constexpr uint64_t kQuiet = Taken<kFormat>::kInfinity | Taken<kFormat>::kLeastNormal >> 1;
  Value* found = l.ir.CreateSelect(below(kQuiet), l.splat(1u), l.splat(2u));
  found = l.ir.CreateSelect(below(taken.kInfinity + 1), by_sign(2, 9), found);
  found = l.ir.CreateSelect(below(taken.kInfinity), by_sign(3, 8), found);
  found = l.ir.CreateSelect(below(taken.kLeastNormal), by_sign(4, 7), found);
  found = l.ir.CreateSelect(below(1), by_sign(5, 6), found);
  l.mask = l.ir.CreateICmpNE(l.ir.CreateAnd(found, s[1]), l.splat(0u));
  return nullptr;
}

// --- a = mantissa * 2^exponent, the mantissa of [0.5, 1). Zeros, infinities and NaNs are their own
// --- mantissa, with exponent 0.

template <const Format& kFormat>
struct Split {
  Taken<kFormat> taken;
  Value* is_special;
  Value* scaled;    // denormals made normal: bits
  Value* exponent;  // of `scaled`, as stored, less what was added

  Split(L& l, Value* number) : taken{l} {
    constexpr int kUp = static_cast<int>(kFormat.mantissa) + 2;
    Value* bits = taken.bits(number);
    is_special = l.ir.CreateNot(taken.is_finite(bits));
    Value* is_small = l.ir.CreateICmpULT(taken.magnitude(bits), taken.constant(taken.kLeastNormal));
    Value* up = llvm::ConstantFP::get(number->getType(), static_cast<double>(uint64_t{1} << kUp));
    scaled = l.ir.CreateSelect(is_small, taken.bits(l.ir.CreateFMul(number, up)), bits);
    Value* less = l.ir.CreateSelect(is_small, taken.constant(kUp), taken.constant(0));
    exponent = l.ir.CreateSub(taken.field(scaled), less);
  }
};
template <const Format& kFormat>
Value* mantissa(L& l, S s) {
  const Split<kFormat> split(l, s[0]);
  const Taken<kFormat>& taken = split.taken;
  constexpr uint64_t kOneHalf = static_cast<uint64_t>(kFormat.bias - 1) << kFormat.mantissa;
  Value* kept = l.ir.CreateAnd(split.scaled, taken.constant(~taken.kInfinity));
  Value* made = l.ir.CreateOr(kept, taken.constant(kOneHalf));
  return l.ir.CreateSelect(split.is_special, s[0], taken.number(made));
}
template <const Format& kFormat>
Value* exponent(L& l, S s) {
  const Split<kFormat> split(l, s[0]);
  const Taken<kFormat>& taken = split.taken;
  Value* value = l.ir.CreateSub(split.exponent, taken.constant(kFormat.bias - 1));
  value = l.ir.CreateSelect(split.is_special, taken.constant(0), value);
  return l.ir.CreateTrunc(value, l.u32());
}

}  // namespace wavetap::jit::parts
