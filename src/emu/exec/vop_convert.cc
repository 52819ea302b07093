// Conversions between types. Float to integer truncates and saturates, NaN becomes 0; NaN results
// are quiet. "pk" conversions put two results into one register.
#include "emu/exec/vop_tables.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

constexpr auto kToI32 = [](auto a) { return saturate_cast<int32_t>(a); };
constexpr auto kToU32 = [](auto a) { return saturate_cast<uint32_t>(a); };
constexpr auto kToI16 = [](auto a) { return saturate_cast<int16_t>(a); };
constexpr auto kToU16 = [](auto a) { return saturate_cast<uint16_t>(a); };
constexpr auto kToF32 = [](auto a) { return static_cast<float>(a); };
constexpr auto kToF64 = [](auto a) { return static_cast<double>(a); };
// Between float and half: the value stays, a NaN becomes quiet.
constexpr auto kQuieted = [](float a) { return a != a ? quiet(a) : a; };

template <int kByte>
struct UnsignedByte {
  float operator()(uint32_t a) const { return static_cast<float>(a >> 8 * kByte & 0xff); }
};

uint32_t pack16(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }

// Toward zero whatever the mode is. Overflow gives the largest finite half.
uint32_t float_to_half_toward_zero(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u) >> 13;
  // Denormal results are multiples of 2^-24. Other values must not reach the cast.
  const float tiny = magnitude < 0x38800000u ? f32_of(magnitude) : 0.0f;
  uint32_t half = magnitude < 0x38800000u
                      ? static_cast<uint32_t>(static_cast<int32_t>(tiny * 0x1p24f))
                      : normal;
  half = magnitude >= 0x47800000u ? 0x7bffu : half;
  half = magnitude == 0x7f800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : half;
  return half | (bits >> 31) << 15;
}

// [-1, 1] to [-32767, 32767] and [0, 1] to [0, 65535], to nearest.
uint32_t to_snorm16(float value) {
  const double scaled = std::floor(static_cast<double>(value) * 32767 + 0.5);
  const double limited = value != value    ? 0
                         : scaled < -32767 ? -32767
                         : scaled > 32767  ? 32767
                                           : scaled;
  return static_cast<uint32_t>(static_cast<int32_t>(limited)) & 0xffff;
}
uint32_t to_unorm16(float value) {
  const double scaled = std::floor(static_cast<double>(value) * 65535 + 0.5);
  const double limited = value != value ? 0 : scaled < 0 ? 0 : scaled > 65535 ? 65535 : scaled;
  return static_cast<uint32_t>(limited);
}

// `old` with byte `index` replaced.
uint32_t insert_byte(uint32_t old, uint32_t index, uint32_t byte) {
  const uint32_t shift = 8 * (index & 3);
  return (old & ~(0xffu << shift)) | (byte & 0xff) << shift;
}

bool saturates(int round) { return (round & kClampOverflow) != 0; }

// clang-format off
constexpr auto kTable = vop_table({
    {Op::v_cvt_i32_f32, vop<I32(F32)>(kToI32)},
    {Op::v_cvt_u32_f32, vop<U32(F32)>(kToU32)},
    {Op::v_cvt_i32_f64, vop<I32(F64)>(kToI32)},
    {Op::v_cvt_u32_f64, vop<U32(F64)>(kToU32)},
    {Op::v_cvt_i16_f16, vop<I16(F16)>(kToI16)},
    {Op::v_cvt_u16_f16, vop<U16(F16)>(kToU16)},
    {Op::v_cvt_flr_i32_f32, vop<I32(F32), Use::kRare>([](float a) { return saturate_cast<int32_t>(std::floor(a)); })},
    {Op::v_cvt_rpi_i32_f32, vop<I32(F32), Use::kRare>([](float a) { return saturate_cast<int32_t>(std::floor(static_cast<double>(a) + 0.5)); })},
    {Op::v_cvt_f32_i32, vop<F32(I32)>(kToF32)},
    {Op::v_cvt_f32_u32, vop<F32(U32)>(kToF32)},
    {Op::v_cvt_f64_i32, vop<F64(I32)>(kToF64)},
    {Op::v_cvt_f64_u32, vop<F64(U32)>(kToF64)},
    {Op::v_cvt_f32_f64, vop<F32(F64)>(kToF32)},
    {Op::v_cvt_f64_f32, vop<F64(F32)>(kToF64)},
    {Op::v_cvt_f16_f32, vop<F16(F32)>(kQuieted)},
    {Op::v_cvt_f32_f16, vop<F32(F16)>(kQuieted)},
    {Op::v_cvt_f16_i16, vop<F16(I16)>(kToF32)},
    {Op::v_cvt_f16_u16, vop<F16(U16)>(kToF32)},
    {Op::v_cvt_i32_i16, vop<I32(I16)>([](int16_t a) { return int32_t{a}; })},
    {Op::v_cvt_u32_u16, vop<U32(U16)>([](uint16_t a) { return uint32_t{a}; })},
    {Op::v_cvt_f32_ubyte0, vop<F32(U32)>(UnsignedByte<0>{})},
    {Op::v_cvt_f32_ubyte1, vop<F32(U32)>(UnsignedByte<1>{})},
    {Op::v_cvt_f32_ubyte2, vop<F32(U32)>(UnsignedByte<2>{})},
    {Op::v_cvt_f32_ubyte3, vop<F32(U32)>(UnsignedByte<3>{})},
    // A signed 4-bit number in sixteenths.
    {Op::v_cvt_off_f32_i4, vop<F32(U32), Use::kRare>([](uint32_t a) { return static_cast<float>(static_cast<int32_t>(a << 28) >> 28) * 0.0625f; })},

    {Op::v_cvt_norm_i16_f16, vop<U16(F16)>([](float a) { return static_cast<uint16_t>(to_snorm16(a)); })},
    {Op::v_cvt_norm_u16_f16, vop<U16(F16)>([](float a) { return static_cast<uint16_t>(to_unorm16(a)); })},
    {Op::v_cvt_pknorm_i16_f32, vop<U32(F32, F32), Use::kRare>([](float a, float b) { return pack16(to_snorm16(a), to_snorm16(b)); })},
    {Op::v_cvt_pknorm_u16_f32, vop<U32(F32, F32), Use::kRare>([](float a, float b) { return pack16(to_unorm16(a), to_unorm16(b)); })},
    {Op::v_cvt_pknorm_i16_f16, vop<U32(F16, F16), Use::kRare>([](float a, float b) { return pack16(to_snorm16(a), to_snorm16(b)); })},
    {Op::v_cvt_pknorm_u16_f16, vop<U32(F16, F16), Use::kRare>([](float a, float b) { return pack16(to_unorm16(a), to_unorm16(b)); })},
    {Op::v_cvt_pkrtz_f16_f32, vop<U32(F32, F32)>([](float a, float b) { return pack16(float_to_half_toward_zero(a), float_to_half_toward_zero(b)); })},
    {Op::v_cvt_pk_i16_i32, vop<U32(I32, I32), Use::kRare>([](int32_t a, int32_t b) {
       const auto limit = [](int32_t value) { return static_cast<uint32_t>(value < -32768 ? -32768 : value > 32767 ? 32767 : value); };
       return pack16(limit(a), limit(b));
     })},
    {Op::v_cvt_pk_u16_u32, vop<U32(U32, U32), Use::kRare>([](uint32_t a, uint32_t b) { return pack16(std::min(a, 0xffffu), std::min(b, 0xffffu)); })},
    {Op::v_cvt_pk_i16_f32, vop<U32(F32, F32), Use::kRare>([](float a, float b) {
       return pack16(static_cast<uint16_t>(saturate_cast<int16_t>(a)), static_cast<uint16_t>(saturate_cast<int16_t>(b)));
     })},
    {Op::v_cvt_pk_u16_f32, vop<U32(F32, F32), Use::kRare>([](float a, float b) { return pack16(saturate_cast<uint16_t>(a), saturate_cast<uint16_t>(b)); })},
    {Op::v_cvt_pk_u8_f32, vop<U32(F32, U32, U32), Use::kRare>([](float a, uint32_t index, uint32_t old) { return insert_byte(old, index, saturate_cast<uint8_t>(a)); })},
    {Op::v_cvt_pkaccum_u8_f32, vop<U32(F32, U32, Old<U32>), Use::kRare>([](float a, uint32_t index, uint32_t old) { return insert_byte(old, index, saturate_cast<uint8_t>(a)); })},

    // 8-bit floats of gfx942.
    {Op::v_cvt_f32_fp8, vop<F32(U32), Use::kRare>([](uint32_t a) { return fp8_to_float(static_cast<uint8_t>(a)); })},
    {Op::v_cvt_f32_bf8, vop<F32(U32), Use::kRare>([](uint32_t a) { return bf8_to_float(static_cast<uint8_t>(a)); })},
    {Op::v_cvt_pk_f32_fp8, vop<U64(U32), Use::kRare>([](uint32_t a) { return bits_of(fp8_to_float(static_cast<uint8_t>(a))) | uint64_t{bits_of(fp8_to_float(static_cast<uint8_t>(a >> 8)))} << 32; })},
    {Op::v_cvt_pk_f32_bf8, vop<U64(U32), Use::kRare>([](uint32_t a) { return bits_of(bf8_to_float(static_cast<uint8_t>(a))) | uint64_t{bits_of(bf8_to_float(static_cast<uint8_t>(a >> 8)))} << 32; })},
    {Op::v_cvt_pk_fp8_f32, vop<U16(F32, F32, RoundMode), Use::kRare>([](float a, float b, int round) {
       return static_cast<uint16_t>(float_to_fp8(a, saturates(round)) | float_to_fp8(b, saturates(round)) << 8);
     })},
    {Op::v_cvt_pk_bf8_f32, vop<U16(F32, F32, RoundMode), Use::kRare>([](float a, float b, int round) {
       return static_cast<uint16_t>(float_to_bf8(a, saturates(round)) | float_to_bf8(b, saturates(round)) << 8);
     })},
    {Op::v_cvt_sr_fp8_f32, vop<U32(F32, U32, RoundMode), Use::kRare>([](float a, uint32_t random, int round) { return float_to_fp8_stochastic(a, random, saturates(round)); })},
    {Op::v_cvt_sr_bf8_f32, vop<U32(F32, U32, RoundMode), Use::kRare>([](float a, uint32_t random, int round) { return float_to_bf8_stochastic(a, random, saturates(round)); })},
});
// clang-format on

}  // namespace

const VopRow* find_convert_row(Op op) { return find_row(kTable, op); }

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
