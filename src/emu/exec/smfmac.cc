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

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {
namespace {

using isa::Inst;
using isa::Op;

constexpr int kLanes = 64;

// As sum_products() of one row, of those k that `held` names.
template <SumStep kStep, int M, class Held, class Value>
void sum_held(const Held& held, const Value (*b)[kLanes], uint32_t* row) {
  constexpr bool kFused = kStep == SumStep::kFusedIfNumber && kHostFuses;
  void* rows[1] = {row};
  RowSums<Value, M, 1> sums(rows);
  for (int n = 0; n < held.count; ++n)
    sums.template add<kFused>(held.factor + n, &b[0][0] + held.at[n]);
  if constexpr (kFused)
    if (sums.may_have_nan()) [[unlikely]]
      return sum_held<SumStep::kRounded, M>(held, b, row);
  sums.store(rows);
}

template <int M, int K, class InA, class InB>
void smfmac(Wave& wave, const Inst& inst) {
  using Value = typename InA::Value;
  constexpr int kPerLane = M * K / kLanes;  // of B, and of A before compression
  constexpr int kIndexBits = kPerLane;      // four for every four k
  static_assert(kIndexBits == 8 || kIndexBits == 16);

  // Of each row of A only what it holds, k ascending: the rest is skipped, not multiplied by zero,
  // since what A leaves out must not turn an infinity of B into a NaN.
  struct Held {
    Value factor[K / 2];
    uint16_t at[K / 2];  // of the row of B
    int count = 0;
  };
  Value a[M][K];
  bool is_held[M][K] = {};
  alignas(64)
      Value b[kPerLane][kLanes];  // row k: element k % kPerLane, M lanes of group k / kPerLane
  const uint32_t* a_rows = operand_rows(wave, inst.src[0]);
  const uint32_t* index_row = operand_rows(wave, inst.src[2]);
  const int index_shift = inst.cbsz == 0 ? inst.abid % (32 / kIndexBits) * kIndexBits : 0;
  read_elements<InB, kPerLane>(operand_rows(wave, inst.src[1]), kLanes, b);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = lane % M;
    const int first_k = lane / M * kPerLane;
    const uint32_t index = index_row[lane] >> index_shift;
    for (int e = 0; e < kPerLane / 2; ++e) {
      const int position = static_cast<int>(index >> 2 * e & 3);
      const int k = first_k + e / 2 * 4 + position;
      a[row][k] = read_element<InA>(a_rows, kLanes, lane, e);
      is_held[row][k] = true;
    }
  }

  for (int i = 0; i < M; ++i) {
    Held held;
    for (int k = 0; k < K; ++k) {
      if (!is_held[i][k]) continue;
      held.factor[held.count] = a[i][k];
      held.at[held.count++] = static_cast<uint16_t>(k % kPerLane * kLanes + k / kPerLane * M);
    }
    // D is its own C, and nothing else is read any more: row by row.
    const Place at = result_row<M, Value>(0, i);
    sum_held<kSumStep<InA>, M>(held, b, operand_rows(wave, inst.dst) + at.reg * kLanes + at.lane);
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

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
