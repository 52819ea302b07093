// v_wmma_*: D = A * B + C for one 16x16x16 product, gfx11.
//
// Lane l holds row l % 16 of A and column l % 16 of B, all 16 k packed upwards; lanes 16 and up
// must repeat what lanes 0-15 hold, and the engine reads the first copy. D and C: element (i, j) is
// in register i / (lanes / 16), lane 16 * (i % (lanes / 16)) + j; 16-bit results use the half of
// the register that op_sel[2] names and keep the other. EXEC is ignored.
//
// Modifiers: for floating-point inputs neg_lo and neg_hi of A and B negate their even and odd k,
// neg_lo of C negates it and neg_hi takes its absolute value first; for integers neg_lo of A and B
// says "signed", and clamp saturates the result. 16-bit results are summed in f32 and rounded once.
//
// References: RDNA 3 ISA guide 7.9 "Wave matrix multiply accumulate"; AMD's Matrix Instruction
// Calculator.
#include <limits>

#include "emu/exec/matrix.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {
namespace {

using isa::Inst;
using isa::Op;
using isa::Operand;

constexpr int kSize = 16;

struct OutF32 {
  using Value = float;
  static constexpr bool kIsHalf = false;
};
struct OutF16 {
  static constexpr bool kIsHalf = true;
  static float widen(uint32_t bits) { return half_to_float(bits); }
  static uint32_t narrow(float value) { return float_to_half(value); }
};
struct OutBf16 {
  static constexpr bool kIsHalf = true;
  static float widen(uint32_t bits) { return bf16_to_float(bits); }
  static uint32_t narrow(float value) { return float_to_bf16(value); }
};

// Bits of element (i, j) of C: the whole register, or the half that op_sel names.
uint32_t read_c(Wave& wave, const Operand& c, bool is_half, int reg, int lane) {
  const uint32_t bits = c.is(isa::OperandKind::kImm)
                            ? static_cast<uint32_t>(c.imm)
                            : operand_rows(wave, c)[reg * wave.lanes + lane];
  if (!is_half) return bits;
  return (c.op_sel ? bits >> 16 : bits) & 0xffff;
}

template <class In, class Out>
void wmma_float(Wave& wave, const Inst& inst) {
  alignas(64) float a[kSize][kSize];  // [k][row]
  alignas(64) float b[kSize][kSize];  // [k][column]
  read_elements<In, kSize>(operand_rows(wave, inst.src[0]), wave.lanes, a);
  read_elements<In, kSize>(operand_rows(wave, inst.src[1]), wave.lanes, b);
  const auto negate = [](const Operand& operand, float(*values)[kSize]) {
    for (int k = 0; k < kSize; ++k)
      if (k % 2 == 0 ? operand.neg : operand.abs)
        for (int lane = 0; lane < kSize; ++lane) values[k][lane] = -values[k][lane];
  };
  negate(inst.src[0], a);
  negate(inst.src[1], b);

  const int per_register = wave.lanes / kSize;
  const Operand& c = inst.src[2];
  alignas(64) float sum[kSize][kSize];
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      const uint32_t bits =
          read_c(wave, c, Out::kIsHalf, i / per_register, i % per_register * kSize + j);
      float value;
      if constexpr (Out::kIsHalf) {
        value = Out::widen(bits);
      } else {
        value = std::bit_cast<float>(bits);
      }
      if (c.abs) value = std::fabs(value);
      sum[i][j] = c.neg ? -value : value;
    }
  }
  constexpr int kRows = kRowsTogether<float, kSize>;
  for (int i = 0; i < kSize; i += kRows) {
    void* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = sum[i + r];
    sum_products<kSumStep<In>, false, kSize, kSize, kRows, float>(
        [&](int k) { return a[k]; }, i, [&](int k) { return b[k]; }, rows, rows);
  }
  uint32_t* rows = operand_rows(wave, inst.dst);
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      uint32_t& to = rows[i / per_register * wave.lanes + i % per_register * kSize + j];
      if constexpr (Out::kIsHalf) {
        const uint32_t bits = Out::narrow(sum[i][j]);
        to = c.op_sel ? (to & 0xffffu) | bits << 16 : (to & 0xffff0000u) | bits;
      } else {
        to = std::bit_cast<uint32_t>(sum[i][j]);
      }
    }
  }
}

// kBits: 8 or 4 per input element.
template <int kBits>
void wmma_integer(Wave& wave, const Inst& inst) {
  const auto read = [&](const Operand& operand, int lane, int k) {
    constexpr int kPerRow = 32 / kBits;
    const uint32_t word = operand_rows(wave, operand)[k / kPerRow * wave.lanes + lane];
    const uint32_t bits = word << (32 - kBits - kBits * (k % kPerRow));
    return operand.neg ? static_cast<int32_t>(bits) >> (32 - kBits)
                       : static_cast<int32_t>(bits >> (32 - kBits));
  };
  int32_t a[kSize][kSize], b[kSize][kSize];
  for (int lane = 0; lane < kSize; ++lane) {
    for (int k = 0; k < kSize; ++k) {
      a[lane][k] = read(inst.src[0], lane, k);
      b[k][lane] = read(inst.src[1], lane, k);
    }
  }
  const int per_register = wave.lanes / kSize;
  int64_t sum[kSize][kSize];
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      const uint32_t bits =
          read_c(wave, inst.src[2], false, i / per_register, i % per_register * kSize + j);
      sum[i][j] = static_cast<int32_t>(bits);
      for (int k = 0; k < kSize; ++k) sum[i][j] += int64_t{a[i][k]} * b[k][j];
    }
  }
  uint32_t* rows = operand_rows(wave, inst.dst);
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      int64_t value = sum[i][j];
      if (inst.clamp)
        value = std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max());
      rows[i / per_register * wave.lanes + i % per_register * kSize + j] =
          static_cast<uint32_t>(value);
    }
  }
}

}  // namespace

MatrixOp find_wmma(const Inst& inst, Shape) {
  constexpr uint32_t kFlops = 2 * kSize * kSize * kSize;
  switch (inst.op) {
    case Op::v_wmma_f32_16x16x16_f16: return {wmma_float<F16, OutF32>, kFlops};
    case Op::v_wmma_f32_16x16x16_bf16: return {wmma_float<Bf16, OutF32>, kFlops};
    case Op::v_wmma_f16_16x16x16_f16: return {wmma_float<F16, OutF16>, kFlops};
    case Op::v_wmma_bf16_16x16x16_bf16: return {wmma_float<Bf16, OutBf16>, kFlops};
    case Op::v_wmma_i32_16x16x16_iu8: return {wmma_integer<8>, kFlops};
    case Op::v_wmma_i32_16x16x16_iu4: return {wmma_integer<4>, kFlops};
    default: return {};
  }
}

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
