// v_mfma_*: D = A * B + C for B small blocks at once, on a wave of 64 lanes.
//
// Layout of the inputs (result_row() in matrix.h has the output): an M x K x blocks input is spread
// over 64 lanes with E = M * K * blocks / 64 elements each. Lane l holds row l % M of A (column l %
// M of B). With several blocks, l / M is the block and k runs over the lane's elements; with one
// block, l / M is a group of E consecutive k. f64 4x4x4 alone mixes them: block l / 4 % 4, k = l /
// 16.
//
// CBSZ and ABID: in every group of 2^CBSZ blocks, block ABID of A stands in for all. BLGP
// rearranges the lanes of B, see b_lane(); for f64 on gfx940 its bits negate A, B and C instead.
// EXEC is ignored.
//
// References: MI100, MI200 and MI300 ISA guides, "Matrix arithmetic instructions"; AMD's Matrix
// Instruction Calculator.
#include "emu/exec/matrix.h"

namespace wavetap::emu::matrix {
namespace {

using isa::Inst;
using isa::Op;

constexpr int kLanes = 64;

// The lane whose B data lane `lane` uses.
int b_lane(uint8_t blgp, int lane) {
  switch (blgp) {
    case 1: return lane % 32;             // lanes 0-31 for both halves
    case 2: return 32 + lane % 32;        // lanes 32-63 for both halves
    case 3: return (lane + 16) % kLanes;  // rotated down by 16
    case 4: return lane % 16;             // one quarter for all
    case 5: return 16 + lane % 16;
    case 6: return 32 + lane % 16;
    case 7: return 48 + lane % 16;
    default: return lane;
  }
}

struct Element {
  int block;
  int row;
  int k;
};

template <int M, int K, int kBlocks, class In>
constexpr Element input_element(int lane, int e) {
  constexpr int kPerLane = M * K * kBlocks / kLanes;
  if constexpr (In::kBits == 64 && M == 4) return {lane / 4 % 4, lane % 4, lane / 16};
  if constexpr (kBlocks > 1) return {lane / M, lane % M, e};
  return {0, lane % M, lane / M * kPerLane + e};
}

template <int M, int K, int kBlocks, class InA, class InB>
void mfma(Wave& wave, const Inst& inst) {
  using Value = typename InA::Value;
  constexpr int kPerLane = M * K * kBlocks / kLanes;
  static_assert(M * K * kBlocks % kLanes == 0 && InA::kBits == InB::kBits);

  constexpr bool kIsF64 = InA::kBits == 64;
  const uint8_t negate = kIsF64 ? inst.blgp : 0;
  const uint8_t blgp = kIsF64 ? 0 : inst.blgp;

  // Lanes of one group of M share block and k, so a group is a row of B and a column of A.
  Value a[kBlocks][K][M];
  Value b[kBlocks][K][M];
  const uint32_t* a_rows = data_rows(wave, inst.src[0]);
  const uint32_t* b_rows = data_rows(wave, inst.src[1]);
  for (int e = 0; e < kPerLane; ++e) {
    for (int first = 0; first < kLanes; first += M) {
      const Element at = input_element<M, K, kBlocks, InA>(first, e);
      Value* a_to = a[at.block][at.k];
      Value* b_to = b[at.block][at.k];
      for (int i = 0; i < M; ++i) a_to[i] = element<InA>(a_rows, kLanes, first + i, e);
      // BLGP moves groups of 16 lanes, so lanes of a group of up to 16 stay together.
      constexpr int kTogether = M < 16 ? M : 16;
      for (int part = 0; part < M; part += kTogether) {
        const int from = b_lane(blgp, first + part);
        for (int j = 0; j < kTogether; ++j)
          b_to[part + j] = element<InB>(b_rows, kLanes, from + j, e);
      }
      if constexpr (kIsF64) {
        for (int i = 0; i < M; ++i) {
          if ((negate & 1) != 0) a_to[i] = -a_to[i];
          if ((negate & 2) != 0) b_to[i] = -b_to[i];
        }
      }
    }
  }

  // Everything is read before anything is written: C of all rows first.
  Value sum[kBlocks][M][M];
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < M; ++i) {
      const Place at = result_row<M, Value>(block, i);
      read_accumulators<Value>(wave, inst.src[2], at.reg, at.lane, M, sum[block][i]);
    }
  }
  const int group_mask = (1 << inst.cbsz) - 1;
  for (int block = 0; block < kBlocks; ++block) {
    const int a_block = ((block & ~group_mask) | (inst.abid & group_mask)) & (kBlocks - 1);
    for (int i = 0; i < M; ++i) {
      Value row[M];
      for (int j = 0; j < M; ++j) {
        row[j] = sum[block][i][j];
        if constexpr (kFlushesResult<InA>) row[j] = flush_denormal(row[j]);
        if constexpr (kIsF64) row[j] = (negate & 4) != 0 ? -row[j] : row[j];
      }
      for (int k = 0; k < K; ++k) {
        const Value factor = a[a_block][k][i];
        for (int j = 0; j < M; ++j) row[j] = multiply_add<InA>(factor, b[block][k][j], row[j]);
      }
      if constexpr (kFlushesResult<InA>)
        for (int j = 0; j < M; ++j) row[j] = flush_denormal(row[j]);
      const Place at = result_row<M, Value>(block, i);
      write_accumulators<Value>(wave, inst.dst, at.reg, at.lane, M, row);
    }
  }
}

template <int M, int K, int kBlocks, class InA, class InB = InA>
constexpr MatrixOp dense() {
  return {mfma<M, K, kBlocks, InA, InB>, 2u * M * M * K * kBlocks};
}

// f16 and bf16, whose denormals depend on the target.
template <class InF16, class InBf16>
MatrixOp find_half(Op op) {
  switch (op) {
    case Op::v_mfma_f32_32x32x4f16: return dense<32, 4, 2, InF16>();
    case Op::v_mfma_f32_16x16x4f16: return dense<16, 4, 4, InF16>();
    case Op::v_mfma_f32_4x4x4f16: return dense<4, 4, 16, InF16>();
    case Op::v_mfma_f32_32x32x8f16: return dense<32, 8, 1, InF16>();
    case Op::v_mfma_f32_16x16x16f16: return dense<16, 16, 1, InF16>();
    case Op::v_mfma_f32_32x32x2bf16: return dense<32, 2, 2, InBf16>();
    case Op::v_mfma_f32_16x16x2bf16: return dense<16, 2, 4, InBf16>();
    case Op::v_mfma_f32_4x4x2bf16: return dense<4, 2, 16, InBf16>();
    case Op::v_mfma_f32_32x32x4bf16: return dense<32, 4, 1, InBf16>();
    case Op::v_mfma_f32_16x16x8bf16: return dense<16, 8, 1, InBf16>();
    case Op::v_mfma_f32_32x32x4bf16_1k: return dense<32, 4, 2, InBf16>();
    case Op::v_mfma_f32_16x16x4bf16_1k: return dense<16, 4, 4, InBf16>();
    case Op::v_mfma_f32_4x4x4bf16_1k: return dense<4, 4, 16, InBf16>();
    case Op::v_mfma_f32_32x32x8bf16_1k: return dense<32, 8, 1, InBf16>();
    case Op::v_mfma_f32_16x16x16bf16_1k: return dense<16, 16, 1, InBf16>();
    default: return {};
  }
}

MatrixOp find_other(Op op) {
  switch (op) {
    case Op::v_mfma_f32_32x32x1f32: return dense<32, 1, 2, F32>();
    case Op::v_mfma_f32_16x16x1f32: return dense<16, 1, 4, F32>();
    case Op::v_mfma_f32_4x4x1f32: return dense<4, 1, 16, F32>();
    case Op::v_mfma_f32_32x32x2f32: return dense<32, 2, 1, F32>();
    case Op::v_mfma_f32_16x16x4f32: return dense<16, 4, 1, F32>();
    case Op::v_mfma_f32_16x16x8_xf32: return dense<16, 8, 1, Xf32>();
    case Op::v_mfma_f32_32x32x4_xf32: return dense<32, 4, 1, Xf32>();
    case Op::v_mfma_i32_32x32x4i8: return dense<32, 4, 2, I8>();
    case Op::v_mfma_i32_16x16x4i8: return dense<16, 4, 4, I8>();
    case Op::v_mfma_i32_4x4x4i8: return dense<4, 4, 16, I8>();
    case Op::v_mfma_i32_32x32x8i8: return dense<32, 8, 1, I8>();
    case Op::v_mfma_i32_16x16x16i8: return dense<16, 16, 1, I8>();
    case Op::v_mfma_i32_32x32x16_i8: return dense<32, 16, 1, I8>();
    case Op::v_mfma_i32_16x16x32_i8: return dense<16, 32, 1, I8>();
    case Op::v_mfma_f64_16x16x4f64: return dense<16, 4, 1, F64>();
    case Op::v_mfma_f64_4x4x4f64: return dense<4, 4, 4, F64>();
    case Op::v_mfma_f32_16x16x32_bf8_bf8: return dense<16, 32, 1, Bf8, Bf8>();
    case Op::v_mfma_f32_16x16x32_bf8_fp8: return dense<16, 32, 1, Bf8, Fp8>();
    case Op::v_mfma_f32_16x16x32_fp8_bf8: return dense<16, 32, 1, Fp8, Bf8>();
    case Op::v_mfma_f32_16x16x32_fp8_fp8: return dense<16, 32, 1, Fp8, Fp8>();
    case Op::v_mfma_f32_32x32x16_bf8_bf8: return dense<32, 16, 1, Bf8, Bf8>();
    case Op::v_mfma_f32_32x32x16_bf8_fp8: return dense<32, 16, 1, Bf8, Fp8>();
    case Op::v_mfma_f32_32x32x16_fp8_bf8: return dense<32, 16, 1, Fp8, Bf8>();
    case Op::v_mfma_f32_32x32x16_fp8_fp8: return dense<32, 16, 1, Fp8, Fp8>();
    default: return {};
  }
}

}  // namespace

MatrixOp find_mfma(const Inst& inst, Shape shape) {
  const bool flushes = shape.target == amd::GfxTarget{9, 0, 10};
  const MatrixOp half =
      flushes ? find_half<F16Flush, Bf16Flush>(inst.op) : find_half<F16, Bf16>(inst.op);
  return half.run != nullptr ? half : find_other(inst.op);
}

}  // namespace wavetap::emu::matrix
