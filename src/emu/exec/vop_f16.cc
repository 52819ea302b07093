// Half-precision arithmetic. Values are computed as float and rounded by the store (lanes.h).
#include "emu/exec/vop_float.h"
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

constexpr auto kFma = [](float a, float b, float c) { return fma_for_half(a, b, c); };

// Denormal halves, held in a float.
float flush_half(float value) {
  return std::fabs(value) < 0x1p-14f ? std::copysign(0.0f, value) : value;
}

// v_mad_f16 and its kin round the product and the sum, and never keep denormals.
constexpr auto kMad = [](float a, float b, float c, int round) {
  const auto rounded = [&](float value) {
    return flush_half(
        half_to_float(round == 0 ? float_to_half(value) : round_to_half(value, round)));
  };
  return rounded(rounded(flush_half(a) * flush_half(b)) + flush_half(c));
};

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_add_f16, arith<F16(F16, F16)>(kAddFloat).flops(1)},
    {Op::v_sub_f16, arith<F16(F16, F16)>(kSubFloat).flops(1)},
    {Op::v_subrev_f16, arith<F16(F16, F16)>(kSubrevFloat).flops(1)},
    {Op::v_mul_f16, arith<F16(F16, F16)>(kMulFloat).flops(1)},
    {Op::v_fma_f16, arith<F16(F16, F16, F16)>(kFma).flops(2)},
    {Op::v_fma_legacy_f16, arith<F16(F16, F16, F16)>(kFma).flops(2)},
    {Op::v_fmaak_f16, arith<F16(F16, F16, F16)>(kFma).flops(2)},
    {Op::v_fmamk_f16, arith<F16(F16, F16, F16)>(kFma).flops(2)},
    {Op::v_fmac_f16, arith<F16(F16, F16, Old<F16>)>(kFma).flops(2)},
    {Op::v_mad_f16, arith<F16(F16, F16, F16, RoundMode)>(kMad).flops(2)},
    {Op::v_mad_legacy_f16, arith<F16(F16, F16, F16, RoundMode)>(kMad).flops(2)},
    {Op::v_madak_f16, arith<F16(F16, F16, F16, RoundMode)>(kMad).flops(2)},
    {Op::v_madmk_f16, arith<F16(F16, F16, F16, RoundMode)>(kMad).flops(2)},
    {Op::v_mac_f16, arith<F16(F16, F16, Old<F16>, RoundMode)>(kMad).flops(2)},

    {Op::v_min_f16, vop<F16(F16, F16, IeeeMode)>(kMinNumber)},
    {Op::v_max_f16, vop<F16(F16, F16, IeeeMode)>(kMaxNumber)},
    {Op::v_min3_f16, vop<F16(F16, F16, F16, IeeeMode)>(kMin3Number)},
    {Op::v_max3_f16, vop<F16(F16, F16, F16, IeeeMode)>(kMax3Number)},
    {Op::v_med3_f16, vop<F16(F16, F16, F16, IeeeMode)>(kMed3Number)},
    {Op::v_minmax_f16, vop<F16(F16, F16, F16, IeeeMode)>(kMinMaxNumber)},
    {Op::v_maxmin_f16, vop<F16(F16, F16, F16, IeeeMode)>(kMaxMinNumber)},

    {Op::v_floor_f16, arith<F16(F16)>(kFloor)},
    {Op::v_ceil_f16, arith<F16(F16)>(kCeil)},
    {Op::v_trunc_f16, arith<F16(F16)>(kTrunc)},
    {Op::v_rndne_f16, arith<F16(F16)>(kRoundEven)},
    // The largest half below one, where float would still have room.
    {Op::v_fract_f16, arith<F16(F16)>([](float a) { return std::min(a - std::floor(a), 0x1.ffcp-1f); })},
    {Op::v_ldexp_f16, arith<F16(F16, I16)>([](float a, int16_t exponent) { return kScaleBy(a, exponent); })},
    {Op::v_frexp_mant_f16, arith<F16(F16)>(kMantissa)},
    {Op::v_frexp_exp_i16_f16, vop<I16(F16)>([](float a) { return static_cast<int16_t>(kExponent(a)); })},

    {Op::v_pack_b32_f16, vop<U32(U16, U16)>([](uint16_t a, uint16_t b) { return a | uint32_t{b} << 16; })},
});
// clang-format on

}  // namespace

const VopRow* find_f16_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
