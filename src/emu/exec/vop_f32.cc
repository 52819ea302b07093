// Single-precision arithmetic. Transcendentals are in exec/vop_trans.cc, conversions in
// exec/vop_convert.cc.
#include "emu/exec/vop_float.h"
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

// "Legacy" multiplication, for DirectX 9: 0 times anything is +0.
float mul_legacy(float a, float b) { return ((a == 0) | (b == 0)) ? 0.0f : a * b; }

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
constexpr auto kFmaLegacy = [](float a, float b, float c) {
  return ((a == 0) | (b == 0)) ? c : __builtin_fmaf(a, b, c);
};
constexpr auto kMad = [](float a, float b, float c) { return mad(a, b, c); };
constexpr auto kMadLegacy = [](float a, float b, float c) { return mad_legacy(a, b, c); };

// Faces of a cube map: which axis dominates, z first, then y, then x.
enum class Axis { kX, kY, kZ };
Axis major_axis(float x, float y, float z) {
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) return Axis::kZ;
  return std::fabs(y) >= std::fabs(x) ? Axis::kY : Axis::kX;
}
float v_cubeid_f32(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::kZ: return z < 0 ? 5.0f : 4.0f;
    case Axis::kY: return y < 0 ? 3.0f : 2.0f;
    default: return x < 0 ? 1.0f : 0.0f;
  }
}
float v_cubesc_f32(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::kZ: return z < 0 ? -x : x;
    case Axis::kY: return x;
    default: return x < 0 ? z : -z;
  }
}
float v_cubetc_f32(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::kZ: return -y;
    case Axis::kY: return y < 0 ? -z : z;
    default: return -y;
  }
}
float v_cubema_f32(float x, float y, float z) {
  switch (major_axis(x, y, z)) {
    case Axis::kZ: return z * 2;
    case Axis::kY: return y * 2;
    default: return x * 2;
  }
}

// Specular lighting of fixed-function pipelines: -FLT_MAX stands for "no light".
float v_mullit_f32(float a, float b, float c) {
  constexpr float kLowest = -std::numeric_limits<float>::max();
  // !(c > 0) and !(b > kLowest) hold for NaN as well.
  if (!(b > kLowest) || !(c > 0)) return kLowest;
  return mul_legacy(a, b);
}

struct Med3 {
  float operator()(float a, float b, float c, bool ieee) const {
    return kMed3Number(a, b, c, ieee);
  }
  // Without NaNs minimum and maximum are those of the order of bits.
  static QuickResult quick(float a, float b, float c, bool) {
    const int32_t key_a = order_key(a), key_b = order_key(b), key_c = order_key(c);
    const int32_t of_ab = key_a > key_b ? key_a : key_b;
    const int32_t of_ac = key_a > key_c ? key_a : key_c;
    const int32_t of_bc = key_b > key_c ? key_b : key_c;
    const float highest = from_order_key(of_ab > key_c ? of_ab : key_c);
    int32_t middle = highest == b ? of_ac : of_ab;
    middle = highest == a ? of_bc : middle;
    const bool has_nan = (a != a) | (b != b) | (c != c);
    return {bits_of(from_order_key(middle)), has_nan ? 1u : 0};
  }
};

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_add_f32, arith<F32(F32, F32)>([](float a, float b) { return a + b; }).flops(1)},
    {Op::v_sub_f32, arith<F32(F32, F32)>([](float a, float b) { return a - b; }).flops(1)},
    {Op::v_subrev_f32, arith<F32(F32, F32)>([](float a, float b) { return b - a; }).flops(1)},
    {Op::v_mul_f32, arith<F32(F32, F32)>([](float a, float b) { return a * b; }).flops(1)},
    {Op::v_mul_legacy_f32, arith<F32(F32, F32), Use::kRare>([](float a, float b) { return mul_legacy(a, b); }).flops(1)},
    {Op::v_fma_f32, arith<F32(F32, F32, F32)>(kFma).flops(2)},
    {Op::v_fmaak_f32, arith<F32(F32, F32, F32), Use::kRare>(kFma).flops(2)},
    {Op::v_fmamk_f32, arith<F32(F32, F32, F32), Use::kRare>(kFma).flops(2)},
    {Op::v_fmac_f32, arith<F32(F32, F32, Old<F32>)>(kFma).flops(2)},
    {Op::v_fma_legacy_f32, arith<F32(F32, F32, F32), Use::kRare>(kFmaLegacy).flops(2)},
    {Op::v_fmac_legacy_f32, arith<F32(F32, F32, Old<F32>), Use::kRare>(kFmaLegacy).flops(2)},
    {Op::v_mad_f32, arith<F32(F32, F32, F32)>(kMad).flops(2)},
    {Op::v_madak_f32, arith<F32(F32, F32, F32), Use::kRare>(kMad).flops(2)},
    {Op::v_madmk_f32, arith<F32(F32, F32, F32), Use::kRare>(kMad).flops(2)},
    {Op::v_mac_f32, arith<F32(F32, F32, Old<F32>)>(kMad).flops(2)},
    {Op::v_mad_legacy_f32, arith<F32(F32, F32, F32), Use::kRare>(kMadLegacy).flops(2)},
    {Op::v_mac_legacy_f32, arith<F32(F32, F32, Old<F32>), Use::kRare>(kMadLegacy).flops(2)},

    {Op::v_min_f32, vop<F32(F32, F32, IeeeMode)>(kMinNumber)},
    {Op::v_max_f32, vop<F32(F32, F32, IeeeMode)>(kMaxNumber)},
    {Op::v_min3_f32, vop<F32(F32, F32, F32, IeeeMode)>(kMin3Number)},
    {Op::v_max3_f32, vop<F32(F32, F32, F32, IeeeMode)>(kMax3Number)},
    {Op::v_med3_f32, vop<F32(F32, F32, F32, IeeeMode)>(Med3{})},
    {Op::v_minmax_f32, vop<F32(F32, F32, F32, IeeeMode), Use::kRare>(kMinMaxNumber)},
    {Op::v_maxmin_f32, vop<F32(F32, F32, F32, IeeeMode), Use::kRare>(kMaxMinNumber)},

    {Op::v_floor_f32, arith<F32(F32)>(kFloor)},
    {Op::v_ceil_f32, arith<F32(F32)>(kCeil)},
    {Op::v_trunc_f32, arith<F32(F32)>(kTrunc)},
    {Op::v_rndne_f32, arith<F32(F32)>(kRoundEven)},
    {Op::v_fract_f32, arith<F32(F32)>(kFract)},
    {Op::v_ldexp_f32, arith<F32(F32, I32)>(kScaleBy)},
    {Op::v_frexp_mant_f32, arith<F32(F32), Use::kRare>(kMantissa)},
    {Op::v_frexp_exp_i32_f32, vop<I32(F32), Use::kRare>(kExponent)},

    {Op::v_cubeid_f32, vop<F32(F32, F32, F32), Use::kRare>([](float x, float y, float z) { return v_cubeid_f32(x, y, z); })},
    {Op::v_cubesc_f32, vop<F32(F32, F32, F32), Use::kRare>([](float x, float y, float z) { return v_cubesc_f32(x, y, z); })},
    {Op::v_cubetc_f32, vop<F32(F32, F32, F32), Use::kRare>([](float x, float y, float z) { return v_cubetc_f32(x, y, z); })},
    {Op::v_cubema_f32, vop<F32(F32, F32, F32), Use::kRare>([](float x, float y, float z) { return v_cubema_f32(x, y, z); })},
    {Op::v_mullit_f32, arith<F32(F32, F32, F32), Use::kRare>([](float a, float b, float c) { return v_mullit_f32(a, b, c); })},
});
// clang-format on

}  // namespace

const VopRow* find_f32_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
