// Vector operations: from a row of a table to the handlers of one instruction.
//
// Every exec_vop*.cc is a table of VopRow, one per operation, made by the builders at the end of
// this file. find_vop and its siblings pick from the row by the instruction's modifiers and the
// target.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "emu/exec.h"
#include "emu/exec/lanes.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

// What a 16-bit result does to the other half of its register.
enum class High16 : uint8_t { kZero, kKeep };

// --- Operands and results of the plain runner.

// Round to nearest, denormals kept. Compared as one word: every floating-point instruction asks.
inline bool has_default_float_mode(const Wave& wave) {
  static_assert(offsetof(FloatMode, round_f16_f64) == 1 &&
                offsetof(FloatMode, denorm_f16_f64) == 3);
  struct Head {
    uint8_t round_f32, round_f16_f64, denorm_f32, denorm_f16_f64;
  };
  constexpr FloatMode kMode;
  constexpr Head kDefault{kMode.round_f32, kMode.round_f16_f64, kMode.denorm_f32,
                          kMode.denorm_f16_f64};
  uint32_t head;
  std::memcpy(&head, &wave.mode, sizeof head);
  return head == std::bit_cast<uint32_t>(kDefault) && !wave.mode.fp16_overflow;
}

inline void fill_row(uint32_t* row, uint32_t lanes, uint32_t value) {
  for (size_t first = 0; first < lanes; first += kBlockLanes)
    for (size_t i = 0; i < kBlockLanes; ++i) row[first + i] = value;
}

inline void copy_row(uint32_t* to, const uint32_t* from, uint32_t lanes) {
  for (size_t first = 0; first < lanes; first += kBlockLanes)
    std::memcpy(to + first, from + first, kBlockLanes * sizeof(uint32_t));
}

// Lanes of `mask` take the new value, the others keep theirs.
inline void blend_row(uint32_t* to, const uint32_t* from, uint32_t lanes, uint64_t mask) {
  for (size_t first = 0; first < lanes; first += kBlockLanes) {
    const uint32_t bits = static_cast<uint32_t>(mask >> first);
    WT_LANE_LOOP
    for (size_t i = 0; i < kBlockLanes; ++i) {
      const uint32_t taken = from[first + i];
      const uint32_t kept = to[first + i];
      to[first + i] = (bits & kLaneBits.bit[i]) != 0 ? taken : kept;
    }
  }
}

struct Source {
  const uint32_t* lo;
  const uint32_t* hi;
};

// An unmodified operand as rows: in place for registers, in `scratch` for scalars and constants.
template <bool kWide>
inline Source fetch(Wave& wave, const Operand& operand, Row (&scratch)[2]) {
  if (operand.kind == OperandKind::kVgpr) [[likely]] {
    const uint32_t* row = wave.vrow(operand.index);
    return {row, kWide ? row + wave.lanes : row};
  }
  if (operand.kind == OperandKind::kAgpr) {
    const uint32_t* row = wave.arow(operand.index);
    return {row, kWide ? row + wave.lanes : row};
  }
  if constexpr (kWide) {
    const uint64_t value = wave.read_s64(operand);
    fill_row(scratch[0].lane, wave.lanes, static_cast<uint32_t>(value));
    fill_row(scratch[1].lane, wave.lanes, static_cast<uint32_t>(value >> 32));
    return {scratch[0].lane, scratch[1].lane};
  } else {
    fill_row(scratch[0].lane, wave.lanes, wave.read_s32(operand));
    return {scratch[0].lane, scratch[0].lane};
  }
}

// abs and neg of a floating-point source, into `scratch`.
inline void apply_signs(uint32_t* to, const uint32_t* from, uint32_t lanes, uint32_t keep,
                        uint32_t flip) {
  for (size_t first = 0; first < lanes; first += kBlockLanes) {
    WT_LANE_LOOP
    for (size_t i = 0; i < kBlockLanes; ++i) to[first + i] = (from[first + i] & keep) ^ flip;
  }
}
template <class Tag>
inline Source with_signs(Source source, const Operand& operand, Row (&scratch)[2], uint32_t lanes) {
  constexpr uint32_t kSign = Tag::kType.bits == 16 ? 0x8000u : 0x80000000u;
  if constexpr (Tag::kType.pack == Pack::kDwords) {
    // neg_lo and neg_hi. A scalar or a constant lies in `scratch` already, and op_sel may have taken
    // one of its rows for both parts, or exchanged them: both are read before either is written.
    const uint32_t flip_lo = operand.neg ? kSign : 0, flip_hi = operand.abs ? kSign : 0;
    for (size_t first = 0; first < lanes; first += kBlockLanes) {
      WT_LANE_LOOP
      for (size_t i = first; i < first + kBlockLanes; ++i) {
        const uint32_t lo = source.lo[i] ^ flip_lo, hi = source.hi[i] ^ flip_hi;
        scratch[0].lane[i] = lo;
        scratch[1].lane[i] = hi;
      }
    }
    return {scratch[0].lane, scratch[1].lane};
  } else {
    constexpr bool kWide = Tag::kType.bits == 64;
    uint32_t* const to = scratch[kWide ? 1 : 0].lane;
    apply_signs(to, kWide ? source.hi : source.lo, lanes, operand.abs ? ~kSign : ~0u,
                operand.neg ? kSign : 0);
    return kWide ? Source{source.lo, to} : Source{to, to};
  }
}

inline Operand vcc_operand() {
  Operand operand;
  operand.kind = OperandKind::kScalar;
  operand.index = isa::slot::kVccLo;
  operand.dwords = 2;
  return operand;
}

// A lane mask among the sources; instructions whose text names none use VCC.
inline uint64_t fetch_mask(const Wave& wave, const Operand& operand) {
  return operand.kind == OperandKind::kNone ? wave.vcc() : wave.read_mask(operand);
}

// Where a mask result goes. v_cmp has it as its only result, carries as their second one.
inline void store_mask(Wave& wave, const Inst& inst, uint64_t mask) {
  const Operand& operand = inst.dst2.kind == OperandKind::kScalar ? inst.dst2 : inst.dst;
  wave.write_mask(operand.kind == OperandKind::kScalar ? operand : vcc_operand(), mask);
}

// v_cmp leaves its result in a mask; v_cmpx in EXEC, and on gfx9 in a mask as well.
inline void store_compare(Wave& wave, const Inst& inst, uint64_t mask, bool writes_exec) {
  const bool names_mask =
      inst.dst.kind == OperandKind::kScalar || inst.dst2.kind == OperandKind::kScalar;
  if (names_mask || !writes_exec) store_mask(wave, inst, mask);
  if (!writes_exec) return;
  wave.s[isa::slot::kExecLo] = static_cast<uint32_t>(mask);
  if (wave.lanes == 64) wave.s[isa::slot::kExecHi] = static_cast<uint32_t>(mask >> 32);
}

// --- Runners.

template <class Tag>
concept IsWide = Tag::kType.bits == 64;
// Sources whose abs and neg the plain runner knows.
template <class Tag>
inline constexpr bool kTakesSigns = Tag::kType.role == Role::kRegister&& Tag::kType.is_float &&
                                    (Tag::kType.pack == Pack::kNone ||
                                     Tag::kType.pack == Pack::kDwords);

// No modifiers but signs, default floating-point modes. Falls back to `generic` when the wave's
// state needs it. Results go straight to the register file when every lane is active: lanes do not
// depend on each other, so overwriting an operand row is safe as long as nothing reads it
// afterwards.
template <High16 kHigh, NanRule kRule, bool kMaskResult, class D, class... S>
[[gnu::noinline]] void run_plain(Wave& wave, const Inst& inst, Kernel kernel, Handler generic) {
  constexpr bool kFloat = D::kType.is_float || (S::kType.is_float || ...);
  if ((kFloat && !has_default_float_mode(wave)) || wave.vgpr_index != 0) [[unlikely]]
    return generic(wave, inst);

  RowArgs args;
  Row scratch[sizeof...(S) + 1][2];
  args.lanes = wave.lanes;
  args.ieee = wave.mode.ieee;
  // A NaN rule reads operands again after the results are there.
  [[maybe_unused]] const uint32_t* const result_row =
      IsBit<D> ? nullptr : wave.vrow(inst.dst.index);
  [[maybe_unused]] bool touches_result = false;
  size_t k = 0;
  const auto bind = [&]<class Tag>(Tag) {
    if constexpr (Tag::kType.role == Role::kRegister || Tag::kType.role == Role::kOld) {
      const Operand& operand = Tag::kType.role == Role::kOld ? inst.dst : inst.src[k];
      Source source = fetch<IsWide<Tag>>(wave, operand, scratch[k]);
      if constexpr (Tag::kType.pack == Pack::kDwords && Tag::kType.role == Role::kRegister)
        source = {operand.op_sel ? source.hi : source.lo,
                  operand.op_sel_hi ? source.hi : source.lo};
      if constexpr (kTakesSigns<Tag>)
        if (operand.neg || operand.abs)
          source = with_signs<Tag>(source, operand, scratch[k], wave.lanes);
      args.lo[k] = source.lo;
      args.hi[k] = source.hi;
      for (const uint32_t* row : {source.lo, source.hi})
        touches_result |= row == result_row || (IsWide<D> && row == result_row + wave.lanes);
    } else if constexpr (Tag::kType.role == Role::kMask) {
      args.mask_in = fetch_mask(wave, inst.src[k]);
    }
    ++k;
  };
  (bind(S{}), ...);

  const uint64_t exec = wave.exec();
  const bool all = exec == wave.full_exec();
  if constexpr (IsBit<D>) {
    kernel(args);
    store_compare(wave, inst, args.mask_out & exec, D::kWritesExec);
  } else {
    uint32_t* const to = wave.vrow(inst.dst.index);
    Row result[IsWide<D> ? 2 : 1];
    constexpr bool kMerges = D::kType.bits == 16 && kHigh == High16::kKeep;
    const bool in_place = all && !kMerges && (kRule == NanRule::kNone || !touches_result);
    args.out_lo = in_place ? to : result[0].lane;
    args.out_hi =
        IsWide<D> ? (in_place ? to + args.lanes : result[IsWide<D> ? 1 : 0].lane) : nullptr;
    kernel(args);
    if constexpr (kMerges)
      for (uint32_t i = 0; i < args.lanes; ++i)
        result[0].lane[i] = (result[0].lane[i] & 0xffffu) | (to[i] & 0xffff0000u);
    if (!in_place) {
      if (all) {
        copy_row(to, args.out_lo, args.lanes);
        if constexpr (IsWide<D>) copy_row(to + args.lanes, args.out_hi, args.lanes);
      } else {
        blend_row(to, args.out_lo, args.lanes, exec);
        if constexpr (IsWide<D>) blend_row(to + args.lanes, args.out_hi, args.lanes, exec);
      }
    }
    if constexpr (kMaskResult) store_mask(wave, inst, args.mask_out & exec);
  }
}

// Every modifier and mode. vop_generic.cc
void run_generic(Wave& wave, const Inst& inst, const Signature& signature, Kernel kernel);

template <class D, class... S>
inline constexpr Signature kSignature = [] {
  Signature signature;
  signature.result = D::kType;
  ((signature.source[signature.sources++] = S::kType), ...);
  if constexpr (IsBit<D>) signature.writes_exec = D::kWritesExec;
  return signature;
}();

// --- The direct runner: every operand in a VGPR, or the first a scalar, and no modifiers.
// --- Operands, operation and result are one loop; most instructions of most programs are of this
// --- kind.

// What the direct runner can bind: a dword of a register, or something that needs no operand.
template <class Tag>
inline constexpr bool kBindsDirectly =
    Tag::kType.role == Role::kImplied
        ? !std::is_same_v<Tag, LaneId>
        : Tag::kType.role != Role::kMask && Tag::kType.bits == 32 &&
              (Tag::kType.pack == Pack::kNone || has_halves(Tag::kType.pack));

// How many lanes there are and whether the first source is a scalar: known when the handler is compiled …
template <uint32_t kLanes, bool kScalarFirst>
struct KnownForm {
  static constexpr uint32_t lanes(const Wave&) { return kLanes; }
  static constexpr bool has_scalar(const Inst&) { return kScalarFirst; }
};
// … or asked when it runs. An operation then has one direct handler instead of four, each a little slower.
struct AskedForm {
  static uint32_t lanes(const Wave& wave) { return wave.lanes; }
  static bool has_scalar(const Inst& inst) { return inst.src[0].kind != OperandKind::kVgpr; }
};

// 32 lanes of the operands, beginning at `first`. The first source may be a scalar: `scalar` is
// then a row of it.
template <class Form, class... S>
[[gnu::always_inline]] inline RowArgs direct_args(Wave& wave, const Inst& inst, size_t first,
                                                  const uint32_t* scalar) {
  RowArgs args;
  args.lanes = kBlockLanes;
  args.ieee = wave.mode.ieee;
  const auto row = [&](const Operand& operand) {
    return wave.v + size_t{operand.index} * Form::lanes(wave) + first;
  };
  size_t k = 0;
  const auto bind = [&]<class Tag>(Tag) {
    if constexpr (Tag::kType.role == Role::kRegister)
      args.lo[k] = k == 0 && Form::has_scalar(inst) ? scalar : row(inst.src[k]);
    if constexpr (Tag::kType.role == Role::kOld) args.lo[k] = row(inst.dst);
    ++k;
  };
  (bind(S{}), ...);
  return args;
}

// --- Handlers of one operation. A functor without state is its own identity: F{} is the
// --- operation.

template <NanRule kRule, class F, class D, class... S>
struct Handlers {
  static constexpr bool kMaskResult =
      !IsBit<D> && requires(decltype(F{}(S::load(std::declval<const Block&>(), 0, 0)...)) r) {
    r.bit;
  };
  static constexpr Kernel kKernel = run_kernel<kRule, F, D, S...>;

  static void generic(Wave& wave, const Inst& inst) {
    static constexpr Signature kSig = [] {
      Signature signature = kSignature<D, S...>;
      signature.has_mask_result = kMaskResult;
      return signature;
    }();
    run_generic(wave, inst, kSig, kKernel);
  }
  template <High16 kHigh>
  static void plain(Wave& wave, const Inst& inst) {
    run_plain<kHigh, kRule, kMaskResult, D, S...>(wave, inst, kKernel, generic);
  }

  // A functor that computes for long has nothing to gain: it says kIsLong.
  static constexpr bool kHasDirect =
      !IsBit<D> && !kMaskResult && kBindsDirectly<D> && (kBindsDirectly<S> && ...) && !requires {
    F::kIsLong;
  };
  template <class Form>
  static void direct(Wave& wave, const Inst& inst) {
    constexpr bool kFloat = D::kType.is_float || (S::kType.is_float || ...);
    if ((kFloat && !has_default_float_mode(wave)) || wave.vgpr_index != 0) [[unlikely]]
      return plain<High16::kZero>(wave, inst);
    const uint32_t lanes = Form::lanes(wave);
    const uint64_t exec = lanes == 64 ? wave.s64(isa::slot::kExecLo) : wave.s[isa::slot::kExecLo];
    uint32_t scalar[kBlockLanes];
    if (Form::has_scalar(inst)) fill_row(scalar, kBlockLanes, wave.read_s32(inst.src[0]));
    for (size_t first = 0; first < lanes; first += kBlockLanes) {
      const RowArgs args = direct_args<Form, S...>(wave, inst, first, scalar);
      uint32_t* const to = wave.v + size_t{inst.dst.index} * lanes + first;
      const auto active = static_cast<uint32_t>(exec >> first);
      // Operands may be in the result's row, and the NaN rule needs them afterwards.
      uint32_t result[kBlockLanes];
      if (run_direct_block(args, result) != 0) [[unlikely]] {
        block_with_nans<Form>(wave, inst, first, active);
        continue;
      }
      if (active == ~uint32_t{0}) [[likely]] {
        for (size_t i = 0; i < kBlockLanes; ++i) to[i] = result[i];
      } else {
        blend_row(to, result, kBlockLanes, active);
      }
    }
  }

 private:
  // Returns not zero when there are NaNs among the results.
  [[gnu::always_inline]] static uint32_t run_direct_block(const RowArgs& args, uint32_t* to) {
    Block block(args, 0);
    block.row.out_lo = to;
    uint32_t bits = 0;
    return run_block<kRule, F, D, S...>(block, bits, std::index_sequence_for<S...>{});
  }
  template <class Form>
  [[gnu::noinline, gnu::cold]] static void block_with_nans(Wave& wave, const Inst& inst,
                                                           size_t first, uint32_t active) {
    uint32_t scalar[kBlockLanes];
    if (Form::has_scalar(inst)) fill_row(scalar, kBlockLanes, wave.read_s32(inst.src[0]));
    RowArgs args = direct_args<Form, S...>(wave, inst, first, scalar);
    uint32_t result[kBlockLanes];
    args.out_lo = result;
    kKernel(args);
    blend_row(wave.v + size_t{inst.dst.index} * Form::lanes(wave) + first, result, kBlockLanes,
              active);
  }
};

// --- Builders.

// Rare operations are not worth the code of direct handlers.
enum class Use : uint8_t { kCommon, kRare };

template <NanRule kRule, Use kUse, class Sig>
struct Builder;

template <NanRule kRule, Use kUse, class D, class... S>
struct Builder<kRule, kUse, D(S...)> {
  VopRow row;

  template <class F>
  static constexpr Builder of(F) {
    using H = Handlers<kRule, F, D, S...>;
    Builder builder;
    builder.row.plain = H::template plain<High16::kZero>;
    if constexpr (D::kType.bits == 16) builder.row.plain_low = H::template plain<High16::kKeep>;
    builder.row.generic = H::generic;
    if constexpr (H::kHasDirect && kUse == Use::kCommon) {
#ifdef WT_VOP_COMPACT
      for (auto& handlers : builder.row.direct)
        for (Handler& handler : handlers) handler = H::template direct<AskedForm>;
#else
      builder.row.direct[0][0] = H::template direct<KnownForm<32, false>>;
      builder.row.direct[0][1] = H::template direct<KnownForm<32, true>>;
      builder.row.direct[1][0] = H::template direct<KnownForm<64, false>>;
      builder.row.direct[1][1] = H::template direct<KnownForm<64, true>>;
#endif
    }
    ((builder.row.pack = std::max(builder.row.pack, S::kType.pack)), ...);
    builder.row.plain_signs = ((S::kType.role != Role::kRegister || kTakesSigns<S>)&&...);
    VopFacts& facts = builder.row.facts;
    ((facts.source[facts.sources++] = {S::kType.bits, S::kType.pack, S::kType.role == Role::kOld}),
     ...);
    return builder;
  }
  // Floating-point operations per lane, of the result's precision unless said otherwise.
  constexpr Builder flops(uint8_t count) const {
    constexpr bool kHalf = D::kType.bits == 16 || has_halves(D::kType.pack);
    constexpr bool kDouble = D::kType.bits == 64 && D::kType.pack == Pack::kNone;
    return flops(count, kHalf ? Precision::kF16 : kDouble ? Precision::kF64 : Precision::kF32);
  }
  constexpr Builder flops(uint8_t count, Precision precision) const {
    Builder builder = *this;
    builder.row.facts.flops = count;
    builder.row.facts.precision = precision;
    return builder;
  }
  // The operation with the clamp bit set: integer results saturate.
  template <class F>
  constexpr Builder saturating(F) const {
    Builder builder = *this;
    builder.row.saturating = Handlers<NanRule::kNone, F, D, S...>::generic;
    return builder;
  }
  constexpr operator VopRow() const { return row; }
};

// vop<D(S...)>(f): f computes the result's value, or Carried of it, bit for bit.
template <class Sig, Use kUse = Use::kCommon, class F>
constexpr auto vop(F f) {
  return Builder<NanRule::kNone, kUse, Sig>::of(f);
}
// arith<D(S...)>(f): the same for floating-point arithmetic, whose NaN results follow the NaN rule.
template <class Sig, Use kUse = Use::kCommon, class F>
constexpr auto arith(F f) {
  return Builder<NanRule::kArith, kUse, Sig>::of(f);
}

struct NamedRow {
  Op op;
  VopRow row;
  constexpr operator VopRow() const {
    VopRow named = row;
    named.op = op;
    return named;
  }
};

// Sorts the rows of a table by operation at compile time.
template <size_t N>
consteval std::array<VopRow, N> vop_table(const NamedRow (&rows)[N]) {
  std::array<VopRow, N> table;
  for (size_t i = 0; i < N; ++i) table[i] = rows[i];
  std::sort(table.begin(), table.end(),
            [](const VopRow& a, const VopRow& b) { return a.op < b.op; });
  return table;
}

// By hand: a library template compiled for a newer processor must not be shared with other
// variants.
template <size_t N>
const VopRow* find_row(const std::array<VopRow, N>& table, Op op) {
  size_t begin = 0;
  size_t end = N;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (table[middle].op < op) begin = middle + 1;
    else end = middle;
  }
  return begin < N && table[begin].op == op ? &table[begin] : nullptr;
}

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
