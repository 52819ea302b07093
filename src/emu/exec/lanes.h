// Rows: how a vector instruction becomes loops over lanes.
//
// The semantics of an operation are written once, as a function of scalar values:
//
//   {Op::v_add_f32, arith<F32(F32, F32)>([](float a, float b) { return a + b; })}
//
// From that the templates below make a *kernel*, a function that computes every lane of a result
// row from rows of operands; blocks of 32 lanes have a constant trip count, so that the compiler
// vectorises them. Three runners bring operands to it and its result to the register file:
//
//   direct   no modifiers, every operand in a VGPR but perhaps the first: the kernel's loop with nothing around it. vop.h
//   plain    no modifiers. VGPR rows are used in place, scalars and constants are broadcast into a row,
//            the result is written directly or blended by EXEC. vop.h
//   generic  abs, neg, op_sel, SDWA, DPP, clamp, omod, VGPR indexing and every floating-point mode:
//            operands are copied and prepared, the result is finished lane by lane. vop_generic.cc
//
// The loop is the same in all, hence a modifier can never change what an operation means.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emu/exec/float_ops.h"
#include "emu/exec/vop_row.h"
#include "emu/wave.h"

// The result row either is distinct from every operand row or the very same row; in both cases
// lanes do not depend on each other.
#if defined(__clang__)
#define WT_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
// Some operations call into the C library; that their loops stay scalar is no news.
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define WT_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {

inline constexpr uint32_t kMaxLanes = 64;
inline constexpr size_t kBlockLanes = 32;
inline constexpr size_t kMaxSources = 5;

// MODE.FP16_OVFL: f16 and f8 results that overflow become the largest finite value.
inline constexpr int kClampOverflow = 4;

struct alignas(64) Row {
  uint32_t lane[kMaxLanes];
};

// What a kernel works on. Values of more than 32 bits have a row of low and a row of high dwords.
struct RowArgs {
  uint32_t lanes = 64;
  uint32_t* out_lo = nullptr;
  uint32_t* out_hi = nullptr;
  const uint32_t* lo[kMaxSources] = {};
  const uint32_t* hi[kMaxSources] = {};
  uint64_t mask_in = 0;   // carry in, or the selector of v_cndmask
  uint64_t mask_out = 0;  // carry out, compare result: a bit per lane, active or not
  int round = 0;          // of the result's type; kClampOverflow may be added
  bool ieee = true;
};
using Kernel = void (*)(RowArgs& args);

// 32 values of 64 bits, low dwords at even places. Registers keep low and high dwords in rows of
// their own; bringing them together first lets 64-bit operations vectorise.
struct alignas(64) Pairs {
  uint32_t dword[2 * kBlockLanes];

  uint64_t get(size_t i) const {
    uint64_t value;
    std::memcpy(&value, dword + 2 * i, sizeof value);
    return value;
  }
  void put(size_t i, uint64_t value) { std::memcpy(dword + 2 * i, &value, sizeof value); }
  void join(const uint32_t* lo, const uint32_t* hi) {
    for (size_t i = 0; i < kBlockLanes; ++i) {
      dword[2 * i] = lo[i];
      dword[2 * i + 1] = hi[i];
    }
  }
  void split(uint32_t* lo, uint32_t* hi) const {
    WT_LANE_LOOP
    for (size_t i = 0; i < kBlockLanes; ++i) {
      lo[i] = dword[2 * i];
      hi[i] = dword[2 * i + 1];
    }
  }
};

// 32 lanes of RowArgs, beginning at `first`. A copy, so that the compiler keeps the pointers in
// registers.
struct Block {
  RowArgs row;
  size_t first;
  uint32_t mask_in;
  const Pairs* wide = nullptr;  // 64-bit sources, by position
  Pairs* wide_out = nullptr;

  Block(const RowArgs& args, size_t first_lane)
      : row(args), first(first_lane), mask_in(static_cast<uint32_t>(args.mask_in >> first_lane)) {}
  uint32_t lo(size_t k, size_t i) const { return row.lo[k][first + i]; }
  uint32_t hi(size_t k, size_t i) const { return row.hi[k][first + i]; }
  void put_lo(size_t i, uint32_t value) const { row.out_lo[first + i] = value; }
  void put_hi(size_t i, uint32_t value) const { row.out_hi[first + i] = value; }
};

// 1 << i as data: selecting by mask & kLaneBit[i] vectorises on hosts without per-lane shifts.
struct LaneBits {
  uint32_t bit[kBlockLanes];
};
inline constexpr LaneBits kLaneBits = [] {
  LaneBits bits{};
  for (size_t i = 0; i < kBlockLanes; ++i) bits.bit[i] = 1u << i;
  return bits;
}();

// --- Types of operands and results. `kBits` is the width that modifiers work on.
enum class Role : uint8_t {
  kRegister,  // an operand of the instruction
  kOld,       // the destination's value before the instruction
  kMask,      // a lane mask operand; VCC when the text names none
  kImplied,   // made up by the kernel: lane number, mode bits
};
constexpr bool has_halves(Pack pack) { return pack == Pack::kHalves || pack == Pack::kWholeHalves; }

struct OperandType {
  uint8_t bits = 32;
  bool is_float = false;
  Role role = Role::kRegister;
  Pack pack = Pack::kNone;
};

template <class T>
struct Int32Tag {
  using Value = T;
  static constexpr OperandType kType{32, false};
  static T load(const Block& block, size_t k, size_t i) { return static_cast<T>(block.lo(k, i)); }
  static void store(const Block& block, size_t i, T value) {
    block.put_lo(i, static_cast<uint32_t>(value));
  }
};
template <class T>
struct Int16Tag {
  using Value = T;
  static constexpr OperandType kType{16, false};
  static T load(const Block& block, size_t k, size_t i) { return static_cast<T>(block.lo(k, i)); }
  static void store(const Block& block, size_t i, T value) {
    block.put_lo(i, static_cast<uint16_t>(value));
  }
};
template <class T>
struct Int64Tag {
  using Value = T;
  static constexpr OperandType kType{64, false};
  static T load(const Block& block, size_t k, size_t i) {
    return static_cast<T>(block.wide[k].get(i));
  }
  static void store(const Block& block, size_t i, T value) {
    block.wide_out->put(i, static_cast<uint64_t>(value));
  }
};
using U32 = Int32Tag<uint32_t>;
using I32 = Int32Tag<int32_t>;
using U16 = Int16Tag<uint16_t>;
using I16 = Int16Tag<int16_t>;
using U64 = Int64Tag<uint64_t>;
using I64 = Int64Tag<int64_t>;

struct F32 {
  using Value = float;
  static constexpr OperandType kType{32, true};
  static float load(const Block& block, size_t k, size_t i) { return f32_of(block.lo(k, i)); }
  static void store(const Block& block, size_t i, float value) { block.put_lo(i, bits_of(value)); }
  static bool is_nan(float value) { return value != value; }
};
struct F64 {
  using Value = double;
  static constexpr OperandType kType{64, true};
  static double load(const Block& block, size_t k, size_t i) {
    return f64_of(block.wide[k].get(i));
  }
  static void store(const Block& block, size_t i, double value) {
    block.wide_out->put(i, bits_of(value));
  }
  static bool is_nan(double value) { return value != value; }
};
// f16 values are computed as float; the store rounds. Every basic operation of two halves is exact
// enough in float for that second rounding to be harmless (24 >= 2 * 11 + 2); v_fma_f16 uses
// fma_for_half.
struct F16 {
  using Value = float;
  static constexpr OperandType kType{16, true};
  static float load(const Block& block, size_t k, size_t i) {
    return half_to_float(block.lo(k, i));
  }
  static void store(const Block& block, size_t i, float value) {
    block.put_lo(
        i, block.row.round == 0 ? float_to_half(value) : round_to_half(value, block.row.round));
  }
  static bool is_nan(float value) { return value != value; }
};

// --- Packed operands, as the kernel sees them: halves and dwords already selected and negated.
struct I16x2 : Int32Tag<uint32_t> {
  static constexpr OperandType kType{32, false, Role::kRegister, Pack::kHalves};
};
struct F16x2 : Int32Tag<uint32_t> {
  static constexpr OperandType kType{32, true, Role::kRegister, Pack::kHalves};
};
struct I16x2InPlace : Int32Tag<uint32_t> {
  static constexpr OperandType kType{32, false, Role::kRegister, Pack::kWholeHalves};
};
struct F16x2InPlace : Int32Tag<uint32_t> {
  static constexpr OperandType kType{32, true, Role::kRegister, Pack::kWholeHalves};
};
struct FloatPair {
  float lo;
  float hi;
};
struct F32x2 {
  using Value = FloatPair;
  static constexpr OperandType kType{64, true, Role::kRegister, Pack::kDwords};
  static FloatPair load(const Block& block, size_t k, size_t i) {
    return {f32_of(block.lo(k, i)), f32_of(block.hi(k, i))};
  }
  static void store(const Block& block, size_t i, FloatPair value) {
    block.put_lo(i, bits_of(value.lo));
    block.put_hi(i, bits_of(value.hi));
  }
  static bool is_nan(FloatPair value) { return (value.lo != value.lo) | (value.hi != value.hi); }
};
struct DwordPair {
  uint32_t lo;
  uint32_t hi;
};
struct U32x2 {
  using Value = DwordPair;
  static constexpr OperandType kType{64, false, Role::kRegister, Pack::kDwords};
  static DwordPair load(const Block& block, size_t k, size_t i) {
    return {block.lo(k, i), block.hi(k, i)};
  }
  static void store(const Block& block, size_t i, DwordPair value) {
    block.put_lo(i, value.lo);
    block.put_hi(i, value.hi);
  }
};
// A dword whose neg flag is not a modifier: v_dot4_i32_iu8 chooses its operation by it.
struct SignFree : Int32Tag<uint32_t> {
  static constexpr OperandType kType{32, false, Role::kRegister, Pack::kSignFree};
};
// v_fma_mix and its kin.
struct Mixed : F32 {
  static constexpr OperandType kType{32, true, Role::kRegister, Pack::kMixed};
};

// --- Sources that are not plain operands.
// The destination's old value.
template <class Tag>
struct Old : Tag {
  static constexpr OperandType kType{Tag::kType.bits, Tag::kType.is_float, Role::kOld,
                                     Tag::kType.pack};
};
// This lane's bit of a mask operand: 0 or 1.
struct MaskBit {
  static constexpr OperandType kType{32, false, Role::kMask};
  static uint32_t load(const Block& block, size_t, size_t i) {
    return (block.mask_in & kLaneBits.bit[i]) != 0 ? 1 : 0;
  }
};
struct LaneId {
  static constexpr OperandType kType{32, false, Role::kImplied};
  static uint32_t load(const Block& block, size_t, size_t i) {
    return static_cast<uint32_t>(block.first + i);
  }
};
struct IeeeMode {
  static constexpr OperandType kType{32, false, Role::kImplied};
  static bool load(const Block& block, size_t, size_t) { return block.row.ieee; }
};
struct RoundMode {
  static constexpr OperandType kType{32, false, Role::kImplied};
  static int load(const Block& block, size_t, size_t) { return block.row.round; }
};

// --- Results.
// Value and a bit of a mask result: 0 or 1, as wide as a lane because that vectorises.
template <class T>
struct Carried {
  T value;
  uint32_t bit;
};
// The result of a compare: a bit and nothing else. BitToExec also replaces EXEC (v_cmpx).
struct Bit {
  static constexpr OperandType kType{1, false};
  static constexpr bool kWritesExec = false;
};
struct BitToExec {
  static constexpr OperandType kType{1, false};
  static constexpr bool kWritesExec = true;
};
template <class Tag>
concept IsBit = Tag::kType.bits == 1;

// An operation's operand types at run time, for the generic runner.
struct Signature {
  OperandType result;
  OperandType source[kMaxSources];
  uint8_t sources = 0;
  bool has_mask_result = false;  // besides the value
  bool writes_exec = false;      // v_cmpx
};

// --- Kernels.
// kNone: as computed. kArith: a NaN result follows the engine's NaN rule (float_ops.h).
enum class NanRule : uint8_t { kNone, kArith };

// Rewrites the NaNs of a result row from the operand rows of the same type.
void apply_nan_rule(RowArgs& args, OperandType type, const OperandType* sources, size_t count);

template <class D, class... S>
[[gnu::noinline]] void apply_nan_rule(RowArgs& args) {
  static constexpr OperandType kSources[] = {S::kType...};
  apply_nan_rule(args, D::kType, kSources, sizeof...(S));
}

template <class Tag>
inline constexpr bool kIsJoined = Tag::kType.bits == 64 && Tag::kType.pack == Pack::kNone;

// An operation that is costly only because of rare operands may have a quick form besides its full
// one: the static function F::quick, of the same operands. It is for results of 32 bits, rounded to
// nearest. Where the NaN rule holds, a NaN is a doubt, unless F::kQuickMakesNans says that results
// are looked at.
struct QuickResult {
  uint32_t bits;
  uint32_t doubt;     // not zero: `bits` may be wrong
  uint32_t mask = 0;  // of operations with a mask result: 0 or 1
};
template <class F, class... Values>
concept HasQuick = requires(Values... values) {
  F::quick(values...);
};
// Or of the whole block, where the host has instructions for it: F::quick_block(block, result)
// fills in the results and returns not zero when they may be wrong.
template <class F>
concept MakesNansQuickly = requires {
  requires F::kQuickMakesNans;
};
template <class F>
concept HasQuickBlock = requires(const Block& block, uint32_t* result) {
  F::quick_block(block, result);
};

// False, and nothing done, when a lane is in doubt: the full form has to do the block. `nans` gets not
// zero where a result is NaN.
template <class F, class... S, size_t... K>
[[gnu::always_inline]] inline bool run_quick_block(const Block& block, uint32_t& mask_out,
                                                   uint32_t& nans, std::index_sequence<K...>) {
  // Operands may be in the result's row, and are needed again after doubt.
  uint32_t result[kBlockLanes];
  uint32_t doubt = 0;
  uint32_t mask = 0;
  if constexpr (HasQuickBlock<F>) {
    doubt = F::quick_block(block, result);
  } else {
    WT_LANE_LOOP
    for (size_t i = 0; i < kBlockLanes; ++i) {
      const QuickResult lane = F::quick(S::load(block, K, i)...);
      result[i] = lane.bits;
      doubt |= lane.doubt;
      mask |= kLaneBits.bit[i] & (0u - lane.mask);
    }
  }
  if (doubt != 0) return false;
  mask_out = mask;
  if constexpr (MakesNansQuickly<F>)
    for (size_t i = 0; i < kBlockLanes; ++i) nans |= is_nan_bits32(result[i]) ? 1 : 0;
  for (size_t i = 0; i < kBlockLanes; ++i) block.put_lo(i, result[i]);
  return true;
}

template <NanRule kRule, class F, class D, class... S, size_t... K>
[[gnu::always_inline]] inline uint32_t run_block(Block& block, uint32_t& mask_out,
                                                 std::index_sequence<K...> places) {
  if constexpr (HasQuickBlock<F> || HasQuick<F, decltype(S::load(block, K, 0))...>) {
    static_assert(D::kType.bits == 32);
    uint32_t quick_nans = 0;
    if (block.row.round == 0 && run_quick_block<F, S...>(block, mask_out, quick_nans, places))
      return quick_nans;
  }
  constexpr bool kJoins = (kIsJoined<S> || ...);
  [[maybe_unused]] Pairs wide[kJoins ? sizeof...(S) : 1];
  [[maybe_unused]] Pairs wide_out[1];
  block.wide = wide;
  block.wide_out = wide_out;
  const auto join = [&](size_t k) {
    wide[k].join(block.row.lo[k] + block.first, block.row.hi[k] + block.first);
  };
  ((kIsJoined<S> ? join(K) : void()), ...);

  uint32_t nans = 0;
  uint32_t bits = 0;
  WT_LANE_LOOP
  for (size_t i = 0; i < kBlockLanes; ++i) {
    const auto result = F{}(S::load(block, K, i)...);
    if constexpr (IsBit<D>) {
      bits |= result ? kLaneBits.bit[i] : 0;
    } else if constexpr (requires { result.bit; }) {
      D::store(block, i, result.value);
      bits |= kLaneBits.bit[i] & (0u - static_cast<uint32_t>(result.bit));
    } else {
      D::store(block, i, result);
      if constexpr (kRule == NanRule::kArith) nans |= D::is_nan(result) ? 1 : 0;
    }
  }
  if constexpr (kIsJoined<D>)
    wide_out[0].split(block.row.out_lo + block.first, block.row.out_hi + block.first);
  mask_out = bits;
  return nans;
}

template <NanRule kRule, class F, class D, class... S>
[[gnu::noinline]] void run_kernel(RowArgs& args) {
  constexpr bool kRounds =
      (D::kType.is_float && D::kType.bits == 16) || (std::is_same_v<S, RoundMode> || ...);
  uint32_t nans = 0;
  uint64_t mask_out = 0;
  for (size_t first = 0; first < args.lanes; first += kBlockLanes) {
    Block block(args, first);
    uint32_t bits = 0;
    if (!kRounds || args.round == 0) {
      block.row.round = 0;  // A constant of the inlined loop: software rounding drops out of it.
      nans |= run_block<kRule, F, D, S...>(block, bits, std::index_sequence_for<S...>{});
    } else {
      nans |= run_block<kRule, F, D, S...>(block, bits, std::index_sequence_for<S...>{});
    }
    mask_out |= uint64_t{bits} << first;
  }
  args.mask_out = mask_out;
  if constexpr (kRule == NanRule::kArith)
    if (nans != 0) [[unlikely]]
      apply_nan_rule<D, S...>(args);
}

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
