// Double-precision arithmetic and the argument reduction of trigonometric functions.
#include "emu/exec/vop_float.h"
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

constexpr auto kFma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };

// The first 1201 bits of the fraction 2/pi, most significant first.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};
constexpr uint32_t kTwoOverPiWords = sizeof kTwoOverPi / sizeof kTwoOverPi[0];

// 53 bits of 2/pi from bit `first` on; bits past the end are 0.
uint64_t two_over_pi_bits(uint32_t first) {
  const auto word = [](uint32_t at) { return at < kTwoOverPiWords ? kTwoOverPi[at] : 0; };
  const uint32_t at = first / 64;
  const uint32_t shift = first % 64;
  const uint64_t window = shift == 0 ? word(at) : word(at) << shift | word(at + 1) >> (64 - shift);
  return window >> 11;
}

// The segment of 2/pi that matters for reducing `a`: segment S1[4:0], counted in 53 bits, further
// right for large exponents. Results for huge arguments are scaled up to stay normal.
double v_trig_preop_f64(double a, uint32_t segment) {
  const uint32_t exponent = static_cast<uint32_t>(bits_of(a) >> 52 & 0x7ff);
  uint32_t shift = (segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  int scale = -53 - static_cast<int>(shift);
  if (exponent >= 1968) scale += 128;
  return std::ldexp(static_cast<double>(two_over_pi_bits(shift)), scale);
}

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_add_f64, arith<F64(F64, F64)>(kAddFloat).flops(1)},
    {Op::v_mul_f64, arith<F64(F64, F64)>(kMulFloat).flops(1)},
    {Op::v_fma_f64, arith<F64(F64, F64, F64)>(kFma).flops(2)},
    {Op::v_fmac_f64, arith<F64(F64, F64, Old<F64>)>(kFma).flops(2)},
    {Op::v_min_f64, vop<F64(F64, F64, IeeeMode)>(kMinNumber)},
    {Op::v_max_f64, vop<F64(F64, F64, IeeeMode)>(kMaxNumber)},
    {Op::v_floor_f64, arith<F64(F64)>(kFloor)},
    {Op::v_ceil_f64, arith<F64(F64)>(kCeil)},
    {Op::v_trunc_f64, arith<F64(F64)>(kTrunc)},
    {Op::v_rndne_f64, arith<F64(F64)>(kRoundEven)},
    {Op::v_fract_f64, arith<F64(F64)>(kFract)},
    {Op::v_ldexp_f64, arith<F64(F64, I32)>([](double a, int32_t exponent) { return std::ldexp(a, exponent); })},
    {Op::v_frexp_mant_f64, arith<F64(F64)>(kMantissa)},
    {Op::v_frexp_exp_i32_f64, vop<I32(F64)>(kExponent)},
    {Op::v_trig_preop_f64, vop<F64(F64, U32)>([](double a, uint32_t segment) { return v_trig_preop_f64(a, segment); })},
});
// clang-format on

}  // namespace

const VopRow* find_f64_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
