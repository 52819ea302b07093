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

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {
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

// The M neighbouring lanes that hold a row of B (a column of A): `element` of the lanes from `lane`
// on.
struct InputRow {
  int element;
  int lane;
};

template <int M, int K, int kBlocks, class In>
constexpr InputRow input_row(int block, int k) {
  constexpr int kPerLane = M * K * kBlocks / kLanes;
  if constexpr (In::kBits == 64 && M == 4) return {0, 16 * k + 4 * block};
  if constexpr (kBlocks > 1) return {k, M * block};
  return {k % kPerLane, k / kPerLane * M};
}

// BLGP: lanes of B as they are used.
template <int kRegisters>
const uint32_t* rearrange(const uint32_t* rows, uint8_t blgp, uint32_t (*to)[kLanes]) {
  for (int reg = 0; reg < kRegisters; ++reg)
    for (int lane = 0; lane < kLanes; ++lane)
      to[reg][lane] = rows[reg * kLanes + b_lane(blgp, lane)];
  return to[0];
}

// C of f32 and integers: the registers, where that is safe, or else a copy of them.
template <int kRegisters>
class Accumulators {
 public:
  Accumulators(Wave& wave, const Inst& inst) {
    const isa::Operand& c = inst.src[2];
    if (c.is(isa::OperandKind::kImm)) {
      for (uint32_t& lane : copy_[0]) lane = static_cast<uint32_t>(c.imm);
      rows_ = copy_[0];
      return;
    }
    // A result row is written when its own C has been read: that must not be the C of another.
    stride_ = kLanes;
    rows_ = operand_rows(wave, c);
    const uint32_t* results = operand_rows(wave, inst.dst);
    const bool apart =
        rows_ + kRegisters * kLanes <= results || results + kRegisters * kLanes <= rows_;
    if (rows_ == results || apart) return;
    std::memcpy(copy_, rows_, sizeof copy_);
    rows_ = copy_[0];
  }
  Accumulators(const Accumulators&) = delete;
  Accumulators& operator=(const Accumulators&) = delete;

  const uint32_t* at(Place place) const { return rows_ + place.reg * stride_ + place.lane; }

 private:
  const uint32_t* rows_;
  int stride_ = 0;  // 0: one row for all registers
  uint32_t copy_[kRegisters][kLanes];
};

template <int M, int K, int kBlocks, class InA, class InB>
void mfma(Wave& wave, const Inst& inst) {
  using Value = typename InA::Value;
  constexpr int kPerLane = M * K * kBlocks / kLanes;
  static_assert(M * K * kBlocks % kLanes == 0 && InA::kBits == InB::kBits);

  constexpr bool kIsF64 = InA::kBits == 64;
  const uint8_t negate = kIsF64 ? inst.blgp : 0;
  const uint8_t blgp = kIsF64 ? 0 : inst.blgp;

  alignas(64) Value a_values[kPerLane][kLanes];
  alignas(64) Value b_values[kPerLane][kLanes];
  constexpr int kInputRegisters = kPerLane * InA::kBits / 32;
  const uint32_t* b_rows = operand_rows(wave, inst.src[1]);
  uint32_t rearranged[kInputRegisters][kLanes];
  if (blgp != 0) b_rows = rearrange<kInputRegisters>(b_rows, blgp, rearranged);
  read_elements<InA, kPerLane>(operand_rows(wave, inst.src[0]), kLanes, a_values);
  read_elements<InB, kPerLane>(b_rows, kLanes, b_values);
  if constexpr (kIsF64) {
    for (int e = 0; e < kPerLane; ++e) {
      for (int lane = 0; lane < kLanes; ++lane) {
        if ((negate & 1) != 0) a_values[e][lane] = -a_values[e][lane];
        if ((negate & 2) != 0) b_values[e][lane] = -b_values[e][lane];
      }
    }
  }
  const auto a_of = [&](int block, int k) {
    const InputRow at = input_row<M, K, kBlocks, InA>(block, k);
    return a_values[at.element] + at.lane;
  };
  const auto b_of = [&](int block, int k) {
    const InputRow at = input_row<M, K, kBlocks, InB>(block, k);
    return b_values[at.element] + at.lane;
  };

  const int group_mask = (1 << inst.cbsz) - 1;
  const auto block_of_a = [&](int block) {
    return ((block & ~group_mask) | (inst.abid & group_mask)) & (kBlocks - 1);
  };
  constexpr int kRows = kRowsTogether<Value, M>;
  if constexpr (kIsF64) {
    // Everything is read before anything is written: C of all rows first.
    Value sum[kBlocks][M][M];
    for (int block = 0; block < kBlocks; ++block) {
      for (int i = 0; i < M; ++i) {
        const Place at = result_row<M, Value>(block, i);
        read_accumulators<Value>(wave, inst.src[2], at.reg, at.lane, M, sum[block][i]);
        if ((negate & 4) != 0)
          for (int j = 0; j < M; ++j) sum[block][i][j] = -sum[block][i][j];
      }
    }
    for (int block = 0; block < kBlocks; ++block) {
      for (int i = 0; i < M; i += kRows) {
        void* rows[kRows];
        for (int r = 0; r < kRows; ++r) rows[r] = sum[block][i + r];
        sum_products<SumStep::kFused, false, M, K, kRows, Value>(
            [&](int k) { return a_of(block_of_a(block), k); }, i,
            [&](int k) { return b_of(block, k); }, rows, rows);
        for (int r = 0; r < kRows; ++r) {
          const Place at = result_row<M, Value>(block, i + r);
          write_accumulators<Value>(wave, inst.dst, at.reg, at.lane, M, sum[block][i + r]);
        }
      }
    }
  } else {
    const Accumulators<M * M * kBlocks / kLanes> accumulators(wave, inst);
    uint32_t* results = operand_rows(wave, inst.dst);
    for (int block = 0; block < kBlocks; ++block) {
      for (int i = 0; i < M; i += kRows) {
        const void* from[kRows];
        void* to[kRows];
        for (int r = 0; r < kRows; ++r) {
          const Place at = result_row<M, Value>(block, i + r);
          from[r] = accumulators.at(at);
          to[r] = results + at.reg * kLanes + at.lane;
        }
        sum_products<kSumStep<InA>, kFlushesResult<InA>, M, K, kRows, Value>(
            [&](int k) { return a_of(block_of_a(block), k); }, i,
            [&](int k) { return b_of(block, k); }, from, to);
      }
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

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
