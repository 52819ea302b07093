// The generic runner of vector operations: every modifier, every floating-point mode.
//
// Order of things, as the manuals have it: fetch, DPP, part select (SDWA or op_sel), sign
// extension, absolute value, negation, flushing of denormal inputs, the operation, flushing of
// denormal results, output modifier, clamp, part select of the destination, write under EXEC.
// References: "Vega" ISA 4.2 (MODE), 6.2.3 (modifiers), 13.3.x (SDWA, DPP); RDNA 2 ISA 6.2.x
// (DPP8).
#include <cfenv>

#include "emu/exec/operand_lanes.h"
#include "emu/exec/vop.h"

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace {

using isa::Sel;

// The wave's rounding mode on the host, for the lifetime of the object.
class HostRounding {
 public:
  explicit HostRounding(int round) : changed_(round != 0) {
    static constexpr int kHostMode[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if (changed_) std::fesetround(kHostMode[round & 3]);
  }
  ~HostRounding() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  const bool changed_;
};

// --- DPP.

// Permutes a source in place and returns the lanes that DPP lets be written. `hi` is null for 32
// bits.
uint64_t apply_dpp(const Wave& wave, const Inst& inst, uint32_t* lo, uint32_t* hi) {
  const int lanes = wave.lanes;
  const uint64_t exec = wave.exec();
  const bool is_dpp8 = inst.dpp == isa::Dpp::kDpp8;
  const DppLanes dpp8 = is_dpp8 ? dpp8_lanes(inst.dpp8) : DppLanes{};
  const DppLanes& source = is_dpp8 ? dpp8 : dpp16_lanes(inst.dpp_ctrl);
  uint64_t valid = source.exists;
  // Controls of gfx9 name lanes that a wave32 does not have.
  const uint64_t readable = inst.fetch_inactive ? wave.full_exec() : exec;
  if (readable != ~uint64_t{0})
    for (int lane = 0; lane < lanes; ++lane)
      if ((readable >> source.from[lane] & 1) == 0) valid &= ~(uint64_t{1} << lane);
  Row old;
  for (uint32_t* row : {lo, hi}) {
    if (row == nullptr) continue;
    copy_row(old.lane, row, wave.lanes);
    for (int lane = 0; lane < lanes; ++lane) row[lane] = old.lane[source.from[lane] & (lanes - 1)];
    if (valid != ~uint64_t{0}) {
      fill_row(old.lane, wave.lanes, 0);
      blend_row(row, old.lane, wave.lanes, ~valid);
    }
  }
  const uint64_t writable = is_dpp8 ? ~uint64_t{0} : dpp_write_mask(inst);
  return inst.bound_ctrl || is_dpp8 ? writable : writable & valid;
}

// --- Sources.

uint32_t select_part(uint32_t value, Sel sel, bool sext) {
  switch (sel) {
    case Sel::kDword: return value;
    case Sel::kByte0:
    case Sel::kByte1:
    case Sel::kByte2:
    case Sel::kByte3: {
      const int shift = 8 * (static_cast<int>(sel) - static_cast<int>(Sel::kByte0));
      const uint32_t part = value >> shift & 0xff;
      return sext ? static_cast<uint32_t>(static_cast<int8_t>(part)) : part;
    }
    case Sel::kWord0:
    case Sel::kWord1: {
      const uint32_t part = sel == Sel::kWord1 ? value >> 16 : value & 0xffff;
      return sext ? static_cast<uint32_t>(static_cast<int16_t>(part)) : part;
    }
  }
  return value;
}

// The halves of a packed operand, chosen and negated.
uint32_t select_halves(uint32_t value, const Operand& operand) {
  uint32_t low = operand.op_sel ? value >> 16 : value & 0xffff;
  uint32_t high = operand.op_sel_hi ? value >> 16 : value & 0xffff;
  low ^= operand.neg ? 0x8000u : 0;
  high ^= operand.abs ? 0x8000u : 0;
  return low | high << 16;
}

// One lane of a mixed-precision operand as f32 bits.
uint32_t widen_mixed(uint32_t value, const Operand& operand, const FloatMode& mode) {
  if (operand.op_sel_hi) {
    uint32_t half = operand.op_sel ? value >> 16 : value & 0xffff;
    if ((mode.denorm_f16_f64 & 1) == 0) half = flush_bits16(half);
    value = bits_of(half_to_float(half));
  } else if ((mode.denorm_f32 & 1) == 0) {
    value = flush_bits32(value);
  }
  if (operand.abs) value &= 0x7fffffffu;
  if (operand.neg) value ^= 0x80000000u;
  return value;
}

// MODE has one setting for f32 and one for f16 and f64 together.
bool is_single(OperandType type) {
  return type.pack == Pack::kDwords || (type.bits == 32 && !has_halves(type.pack));
}

bool keeps_denormals(OperandType type, const FloatMode& mode, uint8_t which) {
  return ((is_single(type) ? mode.denorm_f32 : mode.denorm_f16_f64) & which) != 0;
}

void flush_rows(OperandType type, uint32_t* lo, uint32_t* hi, uint32_t lanes) {
  for (uint32_t i = 0; i < lanes; ++i) {
    if (has_halves(type.pack)) {
      lo[i] = flush_bits16(lo[i] & 0xffff) | flush_bits16(lo[i] >> 16) << 16;
    } else if (type.pack == Pack::kDwords) {
      lo[i] = flush_bits32(lo[i]);
      hi[i] = flush_bits32(hi[i]);
    } else if (type.bits == 64) {
      const uint64_t value = flush_bits64(lo[i] | uint64_t{hi[i]} << 32);
      lo[i] = static_cast<uint32_t>(value);
      hi[i] = static_cast<uint32_t>(value >> 32);
    } else {
      lo[i] = type.bits == 16 ? flush_bits16(lo[i] & 0xffff) : flush_bits32(lo[i]);
    }
  }
}

// abs and neg of a plain (not packed) operand.
void apply_sign_modifiers(OperandType type, const Operand& operand, uint32_t* lo, uint32_t* hi,
                          uint32_t lanes) {
  if (!operand.abs && !operand.neg) return;
  uint32_t* const row = type.bits == 64 ? hi : lo;
  const uint32_t sign = type.bits == 16 ? 0x8000u : 0x80000000u;
  const uint32_t keep = operand.abs ? ~sign : ~0u;
  const uint32_t flip = operand.neg ? sign : 0;
  for (uint32_t i = 0; i < lanes; ++i) row[i] = (row[i] & keep) ^ flip;
}

// Copies operand `k` to scratch rows and applies its modifiers. Returns the lanes that may be
// written.
uint64_t prepare_source(Wave& wave, const Inst& inst, OperandType type, const Operand& operand,
                        bool is_first, Row (&scratch)[2]) {
  uint32_t* const lo = scratch[0].lane;
  uint32_t* const hi = scratch[1].lane;
  const uint32_t lanes = wave.lanes;
  uint64_t writable = ~uint64_t{0};
  Row constant[2];
  const bool wide = type.bits == 64;
  const Source source =
      wide ? fetch<true>(wave, operand, constant) : fetch<false>(wave, operand, constant);
  copy_row(lo, source.lo, lanes);
  if (wide) copy_row(hi, source.hi, lanes);
  if (is_first && inst.dpp != isa::Dpp::kNone)
    writable = apply_dpp(wave, inst, lo, wide ? hi : nullptr);

  switch (type.pack) {
    case Pack::kNone:
      if (operand.sel != Sel::kDword)
        for (uint32_t i = 0; i < lanes; ++i) lo[i] = select_part(lo[i], operand.sel, operand.sext);
      apply_sign_modifiers(type, operand, lo, hi, lanes);
      break;
    case Pack::kHalves:
      for (uint32_t i = 0; i < lanes; ++i) lo[i] = select_halves(lo[i], operand);
      break;
    case Pack::kWholeHalves:
      for (uint32_t i = 0; i < lanes; ++i)
        lo[i] = (lo[i] & (operand.abs ? 0x7fff7fffu : ~0u)) ^ (operand.neg ? 0x80008000u : 0);
      break;
    case Pack::kDwords:
      for (uint32_t i = 0; i < lanes; ++i) {
        const uint32_t low = operand.op_sel ? hi[i] : lo[i];
        const uint32_t high = operand.op_sel_hi ? hi[i] : lo[i];
        lo[i] = low ^ (operand.neg ? 0x80000000u : 0);
        hi[i] = high ^ (operand.abs ? 0x80000000u : 0);
      }
      break;
    case Pack::kSignFree: break;
    case Pack::kMixed:
      for (uint32_t i = 0; i < lanes; ++i) lo[i] = widen_mixed(lo[i], operand, wave.mode);
      return writable;
  }
  if (type.is_float && !keeps_denormals(type, wave.mode, 1)) flush_rows(type, lo, hi, lanes);
  return writable;
}

// --- Results.

// Output modifiers exist only where results are flushed and not IEEE; they turn -0 into +0.
bool output_modifier_applies(OperandType type, const Inst& inst, const FloatMode& mode) {
  return inst.omod != 0 && type.is_float && !mode.ieee && !keeps_denormals(type, mode, 2);
}

template <class Float>
Float apply_output_modifier(Float value, uint8_t omod) {
  static constexpr float kFactor[] = {1.0f, 2.0f, 4.0f, 0.5f};
  if (value != value) return value;
  const Float scaled = value * static_cast<Float>(kFactor[omod & 3]);
  return scaled == 0 ? Float{0} : scaled;
}

// To [0, 1]. NaN becomes 0 with DX10_CLAMP and stays NaN without.
template <class Float>
Float clamp_result(Float value, bool dx10_clamp) {
  if (value != value) return dx10_clamp ? Float{0} : value;
  return value > 1 ? Float{1} : value > 0 ? value : Float{0};
}

uint32_t finish_half(uint32_t half, const Inst& inst, const FloatMode& mode, bool modify,
                     bool flush) {
  if (flush) half = flush_bits16(half & 0xffff);
  if (modify && !is_nan_bits16(half))
    half = flush_bits16(
        round_to_half(apply_output_modifier(half_to_float(half), inst.omod), mode.round_f16_f64));
  if (inst.clamp) half = float_to_half(clamp_result(half_to_float(half), mode.dx10_clamp));
  return half & 0xffff;
}

uint32_t finish_single(uint32_t bits, const Inst& inst, const FloatMode& mode, bool modify,
                       bool flush) {
  if (flush) bits = flush_bits32(bits);
  if (modify) bits = flush_bits32(bits_of(apply_output_modifier(f32_of(bits), inst.omod)));
  if (inst.clamp) bits = bits_of(clamp_result(f32_of(bits), mode.dx10_clamp));
  return bits;
}

uint64_t finish_double(uint64_t bits, const Inst& inst, const FloatMode& mode, bool modify,
                       bool flush) {
  if (flush) bits = flush_bits64(bits);
  if (modify) bits = flush_bits64(bits_of(apply_output_modifier(f64_of(bits), inst.omod)));
  if (inst.clamp) bits = bits_of(clamp_result(f64_of(bits), mode.dx10_clamp));
  return bits;
}

void finish_float_result(OperandType type, const Inst& inst, const FloatMode& mode, uint32_t* lo,
                         uint32_t* hi, uint32_t lanes) {
  const bool flush = !keeps_denormals(type, mode, 2);
  const bool modify = output_modifier_applies(type, inst, mode);
  if (!flush && !modify && !inst.clamp) return;
  for (uint32_t i = 0; i < lanes; ++i) {
    if (has_halves(type.pack)) {
      lo[i] = finish_half(lo[i] & 0xffff, inst, mode, modify, flush) |
              finish_half(lo[i] >> 16, inst, mode, modify, flush) << 16;
    } else if (type.pack == Pack::kDwords) {
      lo[i] = finish_single(lo[i], inst, mode, modify, flush);
      hi[i] = finish_single(hi[i], inst, mode, modify, flush);
    } else if (type.bits == 64) {
      const uint64_t value =
          finish_double(lo[i] | uint64_t{hi[i]} << 32, inst, mode, modify, flush);
      lo[i] = static_cast<uint32_t>(value);
      hi[i] = static_cast<uint32_t>(value >> 32);
    } else if (type.bits == 16) {
      lo[i] = finish_half(lo[i], inst, mode, modify, flush);
    } else {
      lo[i] = finish_single(lo[i], inst, mode, modify, flush);
    }
  }
}

// The whole register after `value` was put into the selected part of it.
uint32_t merge_part(uint32_t value, uint32_t old, const Inst& inst) {
  const Sel sel = inst.dst.sel;
  if (sel == Sel::kDword) return value;
  const bool is_word = sel == Sel::kWord0 || sel == Sel::kWord1;
  const int shift = is_word ? (sel == Sel::kWord1 ? 16 : 0)
                            : 8 * (static_cast<int>(sel) - static_cast<int>(Sel::kByte0));
  const uint32_t mask = (is_word ? 0xffffu : 0xffu) << shift;
  const uint32_t placed = value << shift & mask;
  if (inst.dst_preserve) return placed | (old & ~mask);
  if (inst.dst_sext) {
    const uint32_t extended = is_word ? static_cast<uint32_t>(static_cast<int16_t>(value))
                                      : static_cast<uint32_t>(static_cast<int8_t>(value));
    return extended << shift;
  }
  return placed;
}

void run_resolved(Wave& wave, const Inst& inst, const Signature& signature, Kernel kernel) {
  const OperandType type = signature.result;
  const uint32_t lanes = wave.lanes;
  uint64_t writable = wave.exec();

  RowArgs args;
  Row scratch[kMaxSources][2];
  args.lanes = lanes;
  args.ieee = wave.mode.ieee;
  if (type.is_float) args.round = is_single(type) ? wave.mode.round_f32 : wave.mode.round_f16_f64;
  if (wave.mode.fp16_overflow) args.round |= kClampOverflow;
  for (size_t k = 0; k < signature.sources; ++k) {
    const OperandType source = signature.source[k];
    if (source.role == Role::kMask) args.mask_in = fetch_mask(wave, inst.src[k]);
    if (source.role != Role::kRegister && source.role != Role::kOld) continue;
    Operand operand = source.role == Role::kOld ? inst.dst : inst.src[k];
    if (source.role == Role::kOld && inst.sdwa) operand.sel = Sel::kDword;
    writable &= prepare_source(wave, inst, source, operand, k == 0, scratch[k]);
    args.lo[k] = scratch[k][0].lane;
    args.hi[k] = scratch[k][1].lane;
  }

  Row result[2];
  args.out_lo = result[0].lane;
  args.out_hi = result[1].lane;
  {
    const HostRounding rounding(args.round);
    kernel(args);
  }

  if (type.bits == 1)
    return store_compare(wave, inst, args.mask_out & writable, signature.writes_exec);
  if (type.is_float) finish_float_result(type, inst, wave.mode, args.out_lo, args.out_hi, lanes);

  uint32_t* const to = wave.vrow(inst.dst.index);
  if (inst.dst.sel != Sel::kDword)
    for (uint32_t i = 0; i < lanes; ++i) args.out_lo[i] = merge_part(args.out_lo[i], to[i], inst);
  blend_row(to, args.out_lo, lanes, writable);
  if (type.bits == 64) blend_row(to + lanes, args.out_hi, lanes, writable);
  if (signature.has_mask_result) store_mask(wave, inst, args.mask_out & writable);
}

}  // namespace

// A NaN result is the first NaN among the operands, quieted: from the last one to the first, each replaces what those
// behind it gave. Kernels that divide by zeros or pad with them have NaNs in every other lane.
static void apply_nan_rule_f32(RowArgs& args, const OperandType* sources, size_t count) {
  for (size_t first = 0; first < args.lanes; first += kBlockLanes) {
    uint32_t given[kBlockLanes];
    for (uint32_t& bits : given) bits = kDefaultNanF32;
    for (size_t k = count; k-- > 0;) {
      if (!sources[k].is_float || sources[k].bits != 32 || has_halves(sources[k].pack)) continue;
      const uint32_t* row = args.lo[k] + first;
      for (size_t i = 0; i < kBlockLanes; ++i)
        given[i] = is_nan_bits32(row[i]) ? row[i] | 0x00400000u : given[i];
    }
    uint32_t* out = args.out_lo + first;
    for (size_t i = 0; i < kBlockLanes; ++i) out[i] = is_nan_bits32(out[i]) ? given[i] : out[i];
  }
}

void apply_nan_rule(RowArgs& args, OperandType type, const OperandType* sources, size_t count) {
  if (type.bits == 32 && type.pack == Pack::kNone) return apply_nan_rule_f32(args, sources, count);
  // Register pairs of f32 are two results; everything else is one.
  const int parts = type.pack == Pack::kDwords ? 2 : 1;
  const uint8_t bits = type.pack == Pack::kDwords ? 32 : type.bits;
  const auto read = [&](const uint32_t* lo, const uint32_t* hi, int part, uint32_t i) {
    if (bits == 64) return lo[i] | uint64_t{hi[i]} << 32;
    return uint64_t{part == 0 ? lo[i] : hi[i]} & (bits == 16 ? 0xffffu : 0xffffffffu);
  };
  const auto is_nan = [&](uint64_t value) {
    if (bits == 64) return is_nan_bits64(value);
    return bits == 16 ? is_nan_bits16(static_cast<uint32_t>(value))
                      : is_nan_bits32(static_cast<uint32_t>(value));
  };
  const uint64_t quiet_bit = bits == 64 ? uint64_t{1} << 51 : bits == 16 ? 1u << 9 : 1u << 22;
  const uint64_t default_nan = bits == 64   ? kDefaultNanF64
                               : bits == 16 ? kDefaultNanF16
                                            : kDefaultNanF32;
  for (uint32_t i = 0; i < args.lanes; ++i) {
    for (int part = 0; part < parts; ++part) {
      if (!is_nan(read(args.out_lo, args.out_hi, part, i))) continue;
      uint64_t result = default_nan;
      for (size_t k = 0; k < count; ++k) {
        if (!sources[k].is_float || sources[k].bits != type.bits || has_halves(sources[k].pack))
          continue;
        const uint64_t value = read(args.lo[k], args.hi[k], part, i);
        if (!is_nan(value)) continue;
        result = value | quiet_bit;
        break;
      }
      (part == 0 ? args.out_lo : args.out_hi)[i] = static_cast<uint32_t>(result);
      if (bits == 64) args.out_hi[i] = static_cast<uint32_t>(result >> 32);
    }
  }
}

void run_generic(Wave& wave, const Inst& inst, const Signature& signature, Kernel kernel) {
  if (wave.vgpr_index == 0) return run_resolved(wave, inst, signature, kernel);
  Inst indexed = inst;
  if (index_registers(wave, indexed)) run_resolved(wave, indexed, signature, kernel);
}

}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
