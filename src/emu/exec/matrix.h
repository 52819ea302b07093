// Shared by the matrix instructions: element types, and the finders of the three groups.
//
// An input type names how many bits an element has in a register, the type it is computed in, and
// how the bits become a value. Sums are formed in ascending k, one rounding (to nearest even) per
// step. Products of the narrow types are exact in f32, so multiply-then-add is what a fused
// operation gives; f32 and f64 use a fused multiply-add. AMD documents neither order nor rounding
// of the hardware's sums, so results agree with hardware to the last bits, not bit for bit, unless
// all sums are exact.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emu/exec.h"
#include "emu/exec/float_ops.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu::matrix {

// How an operation is done, and how many multiplications and additions it is.
struct MatrixOp {
  Handler run = nullptr;
  uint32_t flops = 0;
};

MatrixOp find_mfma(const isa::Inst& inst, Shape shape);    // exec/mfma.cc    dense, CDNA
MatrixOp find_smfmac(const isa::Inst& inst, Shape shape);  // exec/smfmac.cc  4:2 sparse A, gfx940
MatrixOp find_wmma(const isa::Inst& inst, Shape shape);    // exec/wmma.cc    gfx11

// --- Input types.

struct F64 {
  using Value = double;
  static constexpr int kBits = 64;
};

struct F32 {
  using Value = float;
  static constexpr int kBits = 32;
  static float decode(uint32_t bits) { return std::bit_cast<float>(bits); }
};

// gfx940's xf32: f32 in registers, rounded to 10 mantissa bits (nearest even) on the way in.
struct Xf32 {
  using Value = float;
  static constexpr int kBits = 32;
  static float decode(uint32_t bits) {
    if ((bits & 0x7f800000u) == 0x7f800000u) return std::bit_cast<float>(bits);
    return std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu);
  }
};

struct F16 {
  using Value = float;
  static constexpr int kBits = 16;
  static float decode(uint32_t bits) { return half_to_float(bits); }
};

struct Bf16 {
  using Value = float;
  static constexpr int kBits = 16;
  static float decode(uint32_t bits) { return bf16_to_float(bits); }
};

// gfx90a (MI200) flushes denormal inputs and results of its f16 and bf16 matrix instructions; MI100
// and MI300 do not.
struct F16Flush {
  using Value = float;
  static constexpr int kBits = 16;
  static float decode(uint32_t bits) { return half_to_float(flush_bits16(bits)); }
};

struct Bf16Flush {
  using Value = float;
  static constexpr int kBits = 16;
  static float decode(uint32_t bits) { return flush_denormal(bf16_to_float(bits)); }
};

template <class In>
inline constexpr bool kFlushesResult = false;
template <>
inline constexpr bool kFlushesResult<F16Flush> = true;
template <>
inline constexpr bool kFlushesResult<Bf16Flush> = true;

// Values of gfx940's 8-bit formats, which have a sign, the rest as exponent and mantissa, no
// infinities, and 0x80 as their only NaN ("FNUZ").
template <int kMantissaBits>
constexpr std::array<float, 256> make_fnuz_values() {
  constexpr int kExponentBits = 7 - kMantissaBits;
  constexpr int kBias = 1 << (kExponentBits - 1);
  std::array<float, 256> values{};
  for (int code = 0; code < 128; ++code) {
    const int exponent = code >> kMantissaBits;
    const int mantissa = code & ((1 << kMantissaBits) - 1);
    // A denormal has the smallest exponent and no hidden one.
    const int scale = (exponent == 0 ? 1 : exponent) - kBias - kMantissaBits;
    float value = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1 << kMantissaBits));
    for (int i = 0; i < scale; ++i) value *= 2;
    for (int i = 0; i > scale; --i) value /= 2;
    values[static_cast<size_t>(code)] = value;
    values[static_cast<size_t>(code + 128)] = -value;
  }
  values[0x80] = std::numeric_limits<float>::quiet_NaN();
  return values;
}
inline constexpr std::array<float, 256> kFp8Values = make_fnuz_values<3>();
inline constexpr std::array<float, 256> kBf8Values = make_fnuz_values<2>();

struct Fp8 {
  using Value = float;
  static constexpr int kBits = 8;
  static float decode(uint32_t bits) { return kFp8Values[bits]; }
};

struct Bf8 {
  using Value = float;
  static constexpr int kBits = 8;
  static float decode(uint32_t bits) { return kBf8Values[bits]; }
};

struct I8 {
  using Value = int32_t;
  static constexpr int kBits = 8;
  static int32_t decode(uint32_t bits) { return static_cast<int8_t>(bits); }
};

// Element `e` of a lane: elements are packed from bit 0 of the first register upwards.
template <class In>
typename In::Value element(const uint32_t* rows, int lanes, int lane, int e) {
  if constexpr (In::kBits == 64) {
    const uint64_t low = rows[2 * e * lanes + lane], high = rows[(2 * e + 1) * lanes + lane];
    return std::bit_cast<double>(low | high << 32);
  } else {
    constexpr int kPerRow = 32 / In::kBits;
    constexpr uint32_t kMask = In::kBits == 32 ? ~0u : (1u << In::kBits % 32) - 1;
    return In::decode(rows[e / kPerRow * lanes + lane] >> In::kBits * (e % kPerRow) & kMask);
  }
}

// sum + a * b, as described above.
template <class In>
typename In::Value multiply_add(typename In::Value a, typename In::Value b,
                                typename In::Value sum) {
  if constexpr (In::kBits >= 32) {
    return std::fma(a, b, sum);
  } else {
    return sum + a * b;
  }
}

// Registers an accumulator element takes.
template <class Value>
inline constexpr int kAccumulatorRows = sizeof(Value) / 4;

// `count` neighbouring lanes of element `reg` of an accumulator operand: registers, or one inline
// constant for all.
template <class Value>
void read_accumulators(Wave& wave, const isa::Operand& operand, int reg, int first_lane, int count,
                       Value* out) {
  using Bits = std::conditional_t<sizeof(Value) == 8, uint64_t, uint32_t>;
  if (operand.is(isa::OperandKind::kImm)) {
    std::fill_n(out, count, std::bit_cast<Value>(static_cast<Bits>(operand.imm)));
    return;
  }
  const uint32_t* rows =
      data_rows(wave, operand) + reg * kAccumulatorRows<Value> * wave.lanes + first_lane;
  if constexpr (sizeof(Value) == 4) {
    std::memcpy(out, rows, sizeof(Value) * static_cast<size_t>(count));
  } else {
    for (int i = 0; i < count; ++i)
      out[i] = std::bit_cast<Value>(rows[i] | uint64_t{rows[i + wave.lanes]} << 32);
  }
}

template <class Value>
void write_accumulators(Wave& wave, const isa::Operand& operand, int reg, int first_lane, int count,
                        const Value* in) {
  uint32_t* rows =
      data_rows(wave, operand) + reg * kAccumulatorRows<Value> * wave.lanes + first_lane;
  if constexpr (sizeof(Value) == 4) {
    std::memcpy(rows, in, sizeof(Value) * static_cast<size_t>(count));
  } else {
    for (int i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<uint64_t>(in[i]);
      rows[i] = static_cast<uint32_t>(bits);
      rows[i + wave.lanes] = static_cast<uint32_t>(bits >> 32);
    }
  }
}

// Where CDNA keeps row i of an M x M result: element j is `j` lanes further on. MFMA and SMFMAC
// agree.
struct Place {
  int reg;
  int lane;
};

template <int M, class Value>
constexpr Place result_row(int block, int i) {
  if constexpr (sizeof(Value) == 8 && M == 4) return {0, 16 * i + 4 * block};
  if constexpr (sizeof(Value) == 8) return {i / 4, 16 * (i % 4)};
  if constexpr (M == 4) return {i, 4 * block};
  if constexpr (M == 16) return {4 * block + i % 4, 16 * (i / 4)};
  return {16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4 % 2)};
}

}  // namespace wavetap::emu::matrix
