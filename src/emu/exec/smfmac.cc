// v_smfmac_*: D = A * B + D where A is 4:2 sparse: of every four neighbouring k, A holds two
// values, and an index register tells which two. gfx940 on.
//
// B is laid out as for MFMA: lane l holds column l % M, and l / M is a group of E = K * M / 64
// consecutive k. A's lane holds the E / 2 values that stand for the same k, two per group of four.
// Src2 has four bits per group, from bit 0: the position of the first value, then of the second.
// 16-bit inputs need 8 bits of it, 8-bit inputs 16 bits; with CBSZ = 0, ABID says which 8 or 16
// bits of the register. EXEC is ignored.
//
// Reference: MI300 ISA guide, "Sparse matrix"; AMD's Matrix Instruction Calculator.
#include "emu/exec/matrix.h"

namespace wavetap::emu::matrix {
namespace {

using isa::Inst;
using isa::Op;

constexpr int kLanes = 64;

template <int M, int K, class InA, class InB>
void smfmac(Wave& wave, const Inst& inst) {
  using Value = typename InA::Value;
  constexpr int kPerLane = M * K / kLanes;  // of B, and of A before compression
  constexpr int kIndexBits = kPerLane;      // four for every four k
  static_assert(kIndexBits == 8 || kIndexBits == 16);

  Value a[M][K];
  bool is_held[M][K] = {};
  Value b[K][M];
  const uint32_t* a_rows = data_rows(wave, inst.src[0]);
  const uint32_t* b_rows = data_rows(wave, inst.src[1]);
  const uint32_t* index_row = data_rows(wave, inst.src[2]);
  const int index_shift = inst.cbsz == 0 ? inst.abid % (32 / kIndexBits) * kIndexBits : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = lane % M;
    const int first_k = lane / M * kPerLane;
    const uint32_t index = index_row[lane] >> index_shift;
    for (int e = 0; e < kPerLane; ++e) b[first_k + e][row] = element<InB>(b_rows, kLanes, lane, e);
    for (int e = 0; e < kPerLane / 2; ++e) {
      const int position = static_cast<int>(index >> 2 * e & 3);
      const int k = first_k + e / 2 * 4 + position;
      a[row][k] = element<InA>(a_rows, kLanes, lane, e);
      is_held[row][k] = true;
    }
  }

  for (int i = 0; i < M; ++i) {
    // D is its own C, and nothing else is read any more: row by row.
    const Place at = result_row<M, Value>(0, i);
    Value row[M];
    read_accumulators<Value>(wave, inst.dst, at.reg, at.lane, M, row);
    for (int k = 0; k < K; ++k) {
      // Skipped, not multiplied by zero: what A leaves out must not turn an infinity of B into a
      // NaN.
      if (!is_held[i][k]) continue;
      for (int j = 0; j < M; ++j) row[j] = multiply_add<InA>(a[i][k], b[k][j], row[j]);
    }
    write_accumulators<Value>(wave, inst.dst, at.reg, at.lane, M, row);
  }
}

// Counted as the dense product that it stands for.
template <int M, int K, class InA, class InB>
constexpr MatrixOp sparse() {
  return {smfmac<M, K, InA, InB>, 2u * M * M * K};
}

}  // namespace

MatrixOp find_smfmac(const Inst& inst, Shape) {
  switch (inst.op) {
    case Op::v_smfmac_f32_16x16x32_f16: return sparse<16, 32, F16, F16>();
    case Op::v_smfmac_f32_32x32x16_f16: return sparse<32, 16, F16, F16>();
    case Op::v_smfmac_f32_16x16x32_bf16: return sparse<16, 32, Bf16, Bf16>();
    case Op::v_smfmac_f32_32x32x16_bf16: return sparse<32, 16, Bf16, Bf16>();
    case Op::v_smfmac_i32_16x16x64_i8: return sparse<16, 64, I8, I8>();
    case Op::v_smfmac_i32_32x32x32_i8: return sparse<32, 32, I8, I8>();
    case Op::v_smfmac_f32_16x16x64_bf8_bf8: return sparse<16, 64, Bf8, Bf8>();
    case Op::v_smfmac_f32_16x16x64_bf8_fp8: return sparse<16, 64, Bf8, Fp8>();
    case Op::v_smfmac_f32_16x16x64_fp8_bf8: return sparse<16, 64, Fp8, Bf8>();
    case Op::v_smfmac_f32_16x16x64_fp8_fp8: return sparse<16, 64, Fp8, Fp8>();
    case Op::v_smfmac_f32_32x32x32_bf8_bf8: return sparse<32, 32, Bf8, Bf8>();
    case Op::v_smfmac_f32_32x32x32_bf8_fp8: return sparse<32, 32, Bf8, Fp8>();
    case Op::v_smfmac_f32_32x32x32_fp8_bf8: return sparse<32, 32, Fp8, Bf8>();
    case Op::v_smfmac_f32_32x32x32_fp8_fp8: return sparse<32, 32, Fp8, Fp8>();
    default: return {};
  }
}

}  // namespace wavetap::emu::matrix
