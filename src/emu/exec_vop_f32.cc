// Single-precision arithmetic. Transcendentals are in exec_vop_trans.cc, conversions in
// exec_vop_convert.cc.
#include "emu/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT namespace WT_VOP_VARIANT {
namespace {

// "Legacy" multiplication, for DirectX 9: 0 times anything is +0.
float mul_legacy(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }

// v_mad_f32 and its kin round the product and the sum, and never keep denormals.
float mad(float a, float b, float c) {
  const float product = flush_denormal(flush_denormal(a) * flush_denormal(b));
  return flush_denormal(product + flush_denormal(c));
}
float mad_legacy(float a, float b, float c) {
  const float product = flush_denormal(mul_legacy(flush_denormal(a), flush_denormal(b)));
  return flush_denormal(product + flush_denormal(c));
}

constexpr auto kFma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
constexpr auto kFmaLegacy = [](float a, float b, float c) { return a == 0 || b == 0 ? c : __builtin_fmaf(a, b, c); };
constexpr auto kMad = [](float a, float b, float c) { return mad(a, b, c); };
constexpr auto kMadLegacy = [](float a, float b, float c) { return mad_legacy(a, b, c); };

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_add_f32, arith<F32(F32, F32)>([](float a, float b) { return a + b; })},
    {Op::v_sub_f32, arith<F32(F32, F32)>([](float a, float b) { return a - b; })},
    {Op::v_subrev_f32, arith<F32(F32, F32)>([](float a, float b) { return b - a; })},
    {Op::v_mul_f32, arith<F32(F32, F32)>([](float a, float b) { return a * b; })},
    {Op::v_mul_legacy_f32, arith<F32(F32, F32)>([](float a, float b) { return mul_legacy(a, b); })},
    {Op::v_fma_f32, arith<F32(F32, F32, F32)>(kFma)},
    {Op::v_fmaak_f32, arith<F32(F32, F32, F32)>(kFma)},
    {Op::v_fmamk_f32, arith<F32(F32, F32, F32)>(kFma)},
    {Op::v_fmac_f32, arith<F32(F32, F32, Old<F32>)>(kFma)},
    {Op::v_fma_legacy_f32, arith<F32(F32, F32, F32)>(kFmaLegacy)},
    {Op::v_fmac_legacy_f32, arith<F32(F32, F32, Old<F32>)>(kFmaLegacy)},
    {Op::v_mad_f32, arith<F32(F32, F32, F32)>(kMad)},
    {Op::v_madak_f32, arith<F32(F32, F32, F32)>(kMad)},
    {Op::v_madmk_f32, arith<F32(F32, F32, F32)>(kMad)},
    {Op::v_mac_f32, arith<F32(F32, F32, Old<F32>)>(kMad)},
    {Op::v_mad_legacy_f32, arith<F32(F32, F32, F32)>(kMadLegacy)},
    {Op::v_mac_legacy_f32, arith<F32(F32, F32, Old<F32>)>(kMadLegacy)},
});
// clang-format on

}  // namespace

const VopRow* find_f32_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
