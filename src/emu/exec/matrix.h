// Shared by the matrix instructions: element types, and the finders of the three groups.
//
// An input type names how many bits an element has in a register, the type it is computed in, and
// how the bits become a value. Sums are formed in ascending k, one rounding (to nearest even) per
// step. Products of the narrow types are exact in f32 (of bf16: but for the extremes of its range, where
// they are rounded as well); f32 and f64 use a fused multiply-add. AMD documents neither order nor rounding
// of the hardware's sums, so results agree with hardware to the last bits, not bit for bit, unless
// all sums are exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emu/exec/float_ops.h"
#include "emu/exec/host_halves.h"
#include "emu/exec/matrix_op.h"
#include "emu/exec/row_sums.h"
#include "emu/wave.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {

MatrixOp find_mfma(const isa::Inst& inst, Shape shape);    // exec/mfma.cc    dense, CDNA
MatrixOp find_smfmac(const isa::Inst& inst, Shape shape);  // exec/smfmac.cc  4:2 sparse A, gfx940
MatrixOp find_wmma(const isa::Inst& inst, Shape shape);    // exec/wmma.cc    gfx11

// As data_rows() of element.h, in the variant's own namespace.
inline uint32_t* operand_rows(Wave& wave, const isa::Operand& operand) {
  return (operand.is(isa::OperandKind::kAgpr) ? wave.a : wave.v) +
         size_t{operand.index} * wave.lanes;
}

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

template <class In>
inline constexpr bool kIsHalf = std::is_same_v<In, F16> || std::is_same_v<In, F16Flush>;

struct Fp8 {
  using Value = float;
  static constexpr int kBits = 8;
  static float decode(uint32_t bits) { return fp8_to_float(bits); }
};

struct Bf8 {
  using Value = float;
  static constexpr int kBits = 8;
  static float decode(uint32_t bits) { return bf8_to_float(bits); }
};

struct I8 {
  using Value = int32_t;
  static constexpr int kBits = 8;
  static int32_t decode(uint32_t bits) { return static_cast<int8_t>(bits); }
};

// Elements of the first kCount lanes: out[e][lane] is element `e` of `lane`. They are packed from bit
// 0 of the first register upwards; `stride` is the length of a register's row.
template <class In, int kElements, int kCount>
void read_elements(const uint32_t* rows, int stride, typename In::Value (*out)[kCount]) {
  if constexpr (In::kBits == 64) {
    for (int e = 0; e < kElements; ++e) {
      const uint32_t* low = rows + 2 * e * stride;
      for (int lane = 0; lane < kCount; ++lane)
        out[e][lane] = std::bit_cast<double>(low[lane] | uint64_t{low[stride + lane]} << 32);
    }
  } else {
    constexpr int kPerRow = 32 / In::kBits;
    constexpr uint32_t kMask = In::kBits == 32 ? ~0u : (1u << In::kBits % 32) - 1;
    static_assert(kElements % kPerRow == 0);
    for (int reg = 0; reg < kElements / kPerRow; ++reg) {
      const uint32_t* row = rows + reg * stride;
      if constexpr (kIsHalf<In>)
        if (read_finite_halves<kCount, kFlushesResult<In>>(row, out[2 * reg], out[2 * reg + 1]))
          continue;
      for (int part = 0; part < kPerRow; ++part)
        for (int lane = 0; lane < kCount; ++lane)
          out[kPerRow * reg + part][lane] = In::decode(row[lane] >> In::kBits * part & kMask);
    }
  }
}

// Element `e` of one lane.
template <class In>
typename In::Value read_element(const uint32_t* rows, int stride, int lane, int e) {
  constexpr int kPerRow = 32 / In::kBits;
  constexpr uint32_t kMask = In::kBits == 32 ? ~0u : (1u << In::kBits % 32) - 1;
  return In::decode(rows[e / kPerRow * stride + lane] >> In::kBits * (e % kPerRow) & kMask);
}

// How a step of the sum, as described above, is done on host vectors. The narrow types' products are
// exact, so one fused operation gives the same sum, and is quicker; bf16 has the exponents of f32,
// whose products can overflow and become denormal.
template <class In>
inline constexpr SumStep kSumStep = In::kBits >= 32 ? SumStep::kFused : SumStep::kFusedIfNumber;
template <>
inline constexpr SumStep kSumStep<Bf16> = SumStep::kRounded;
template <>
inline constexpr SumStep kSumStep<Bf16Flush> = SumStep::kRounded;
template <>
inline constexpr SumStep kSumStep<I8> = SumStep::kRounded;

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
    for (int i = 0; i < count; ++i) out[i] = std::bit_cast<Value>(static_cast<Bits>(operand.imm));
    return;
  }
  const uint32_t* rows =
      operand_rows(wave, operand) + reg * kAccumulatorRows<Value> * wave.lanes + first_lane;
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
      operand_rows(wave, operand) + reg * kAccumulatorRows<Value> * wave.lanes + first_lane;
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

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
