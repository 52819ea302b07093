#include "proof/shadow_operation.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "emu/exec/float_ops.h"
#include "emu/exec/operand_lanes.h"

namespace wavetap::proof {
namespace {

using emu::RegisterFile;
using emu::Wave;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

uint32_t register_bits(const Wave& wave, RegisterFile file, uint32_t reg, int lane) {
  const uint32_t count = file == RegisterFile::kAgpr ? wave.agpr_count : wave.vgpr_count;
  if (reg >= count) return 0;
  const uint32_t* const rows = file == RegisterFile::kAgpr ? wave.a : wave.v;
  return rows[size_t{reg} * wave.lanes + static_cast<size_t>(lane)];
}

double f32_of(uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
double f64_of(uint32_t low, uint32_t high) {
  return std::bit_cast<double>(uint64_t{high} << 32 | low);
}

RawSample word_of(const Wave& wave, const ShadowRegisters& registers, const Operand& operand,
                  uint32_t dword, int lane) {
  const uint32_t index = operand.index + dword;
  switch (operand.kind) {
    case OperandKind::kVgpr:
      return {registers.vector(RegisterFile::kVgpr, index, lane),
              register_bits(wave, RegisterFile::kVgpr, index, lane)};
    case OperandKind::kAgpr:
      return {registers.vector(RegisterFile::kAgpr, index, lane),
              register_bits(wave, RegisterFile::kAgpr, index, lane)};
    case OperandKind::kScalar: {
      Operand one = operand;
      one.index = static_cast<uint16_t>(index);
      one.dwords = 1;
      return {registers.scalar(wave, index), wave.read_s32(one)};
    }
    case OperandKind::kImm: return {{}, static_cast<uint32_t>(operand.imm >> 32 * dword)};
    case OperandKind::kNone: break;
  }
  return {};
}

Sample sample16(const RawSample& word, bool is_high) {
  const uint32_t bits = word.bits >> (is_high ? 16 : 0) & 0xffff;
  Sample sample{static_cast<double>(emu::half_to_float(bits)), word.cells.half(is_high), bits};
  if (sample.cell.kind != CellKind::kF16 && !sample.is_lost())
    sample.cell = {sample.actual, 0, CellKind::kExact};
  return sample;
}

Sample sample32(const RawSample& word) {
  Sample sample{f32_of(word.bits), word.cells.whole(), word.bits};
  if (sample.cell.kind != CellKind::kF32 && !sample.is_lost())
    sample.cell = {sample.actual, 0, sample.cell.kind};
  return sample;
}

Sample sample64(const RawSample& low, const RawSample& high) {
  Sample sample{f64_of(low.bits, high.bits), {}, low.bits};
  const Cell a = low.cells.whole(), b = high.cells.whole();
  if (a.is_lost() || b.is_lost()) sample.cell.kind = a.is_lost() ? a.kind : b.kind;
  else if (a.kind == CellKind::kF64 && b.kind == CellKind::kF64High) sample.cell = a;
  else sample.cell = {sample.actual, 0, CellKind::kExact};
  return sample;
}

// The part of a register that SDWA chooses, as a whole number.
uint32_t chosen_bits(const Operand& operand, uint32_t bits) {
  const bool sext = operand.sext;
  const auto byte = [&](int shift) {
    const auto value = static_cast<uint8_t>(bits >> shift);
    return sext ? static_cast<uint32_t>(static_cast<int8_t>(value)) : value;
  };
  const auto word = [&](int shift) {
    const auto value = static_cast<uint16_t>(bits >> shift);
    return sext ? static_cast<uint32_t>(static_cast<int16_t>(value)) : value;
  };
  switch (operand.sel) {
    case isa::Sel::kDword: return bits;
    case isa::Sel::kByte0: return byte(0);
    case isa::Sel::kByte1: return byte(8);
    case isa::Sel::kByte2: return byte(16);
    case isa::Sel::kByte3: return byte(24);
    case isa::Sel::kWord0: return word(0);
    case isa::Sel::kWord1: return word(16);
  }
  return bits;
}

void apply_modifiers(bool neg, bool abs, Sample& sample) {
  if (abs && std::signbit(sample.actual)) {
    sample.actual = -sample.actual;
    sample.cell.value = -sample.cell.value;
  }
  if (neg) {
    sample.actual = -sample.actual;
    sample.cell.value = -sample.cell.value;
  }
}

// The lane that the first source of `lane` comes from; -1: none, and zero stands for it.
int source_lane(const Wave& wave, const Inst& inst, int lane) {
  const uint64_t exec = wave.exec();
  const int width =
      inst.family == isa::Family::kDs && wave.program->target().major >= 10 ? 32 : wave.lanes;
  switch (inst.op) {
    case Op::v_readfirstlane_b32: return exec == 0 ? 0 : std::countr_zero(exec);
    case Op::v_readlane_b32: return static_cast<int>(wave.read_s32(inst.src[1]) % wave.lanes);
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32: {
      const uint64_t select = wave.read_s32(inst.src[1]) | uint64_t{wave.read_s32(inst.src[2])}
                                                               << 32;
      const int row = (inst.op == Op::v_permlanex16_b32 ? lane ^ 16 : lane) & ~15;
      const int from = row + static_cast<int>(select >> 4 * (lane % 16) & 15);
      return inst.fetch_inactive || (exec >> from & 1) != 0 ? from : -1;
    }
    case Op::v_permlane64_b32: return wave.lanes == 64 ? lane ^ 32 : lane;
    case Op::ds_bpermute_b32: {
      const uint32_t address = register_bits(wave, RegisterFile::kVgpr, inst.vaddr.index, lane) +
                               static_cast<uint32_t>(inst.offset);
      const int from =
          (lane & ~(width - 1)) + static_cast<int>(address / 4 % static_cast<uint32_t>(width));
      return (exec >> from & 1) != 0 ? from : -1;
    }
    case Op::ds_swizzle_b32: {
      const int from =
          (lane & ~31) + static_cast<int>(emu::swizzle_source(static_cast<uint32_t>(lane & 31),
                                                              static_cast<uint32_t>(inst.offset)));
      return (exec >> from & 1) != 0 ? from : -1;
    }
    default: break;
  }
  if (inst.dpp == isa::Dpp::kNone) return lane;
  const emu::DppLanes lanes =
      inst.dpp == isa::Dpp::kDpp8 ? emu::dpp8_lanes(inst.dpp8) : emu::dpp16_lanes(inst.dpp_ctrl);
  if ((lanes.exists >> lane & 1) == 0) return -1;
  const int from = lanes.from[lane];
  return inst.fetch_inactive || (exec >> from & 1) != 0 ? from : -1;
}

bool is_packed(Op op) {
  return op == Op::v_pk_add_f32 || op == Op::v_pk_mul_f32 || op == Op::v_pk_fma_f32 ||
         op == Op::v_pk_mov_b32;
}
// Two results of 16 bits in one register.
bool is_packed_half(Op op) {
  switch (op) {
    case Op::v_pk_add_f16:
    case Op::v_pk_mul_f16:
    case Op::v_pk_fma_f16:
    case Op::v_pk_fmac_f16:
    case Op::v_pk_max_f16:
    case Op::v_pk_min_f16: return true;
    default: return false;
  }
}
bool is_pair_of_halves(Op op) { return is_packed_half(op) || op == Op::v_cvt_pkrtz_f16_f32; }
bool is_mixed(Op op) {
  switch (op) {
    case Op::v_fma_mix_f32:
    case Op::v_mad_mix_f32:
    case Op::v_fma_mixlo_f16:
    case Op::v_fma_mixhi_f16:
    case Op::v_mad_mixlo_f16:
    case Op::v_mad_mixhi_f16: return true;
    default: return false;
  }
}
bool writes_high(const Inst& inst) {
  return inst.op == Op::v_fma_mixhi_f16 || inst.op == Op::v_mad_mixhi_f16 ||
         inst.dst.sel == isa::Sel::kWord1;
}

// A source of v_fma_mix_f32: an f32, or one of two halves.
Sample mixed(const RawSample& word, const Operand& operand) {
  return operand.op_sel_hi ? sample16(word, operand.op_sel) : sample32(word);
}

class Gatherer {
 public:
  Gatherer(const Wave& wave, const ShadowRegisters& registers, const Inst& inst)
      : wave_(wave), registers_(registers), inst_(inst) {}

  // `part`: of a result that has several, each computed by itself: a dword, or half of one.
  void gather(ShadowOperation& made, uint32_t part) const {
    const bool is_half = is_pair_of_halves(inst_.op);
    made.dst = inst_.dst;
    made.reg = static_cast<uint16_t>(inst_.dst.index + (is_half ? 0 : part));
    made.clamp = inst_.clamp;
    made.omod = inst_.omod;
    made.row = rule_of(inst_.op);
    made.row.flushes = (wave_.mode.denorm_f16_f64 & 3) != 3;
    made.is_high = is_half ? part == 1 : writes_high(inst_);
    Rule& rule = made.row.rule;
    const bool is_part = inst_.sdwa && !is_dwords();
    if (is_part && (rule == Rule::kMove || rule == Rule::kSelect)) {
      made.row.sources = rule == Rule::kSelect ? 2 : 1;
      rule = Rule::kBits;
    }
    if (!is_followed(made.row)) {
      const bool is_bits = rule == Rule::kBits || rule == Rule::kStep;
      rule = is_bits ? Rule::kWhole : Rule::kUnknown;
    }
    if (rule == Rule::kUnknown || rule == Rule::kWhole) return;
    const int lanes = made.is_scalar() ? 1 : wave_.lanes;
    if (rule == Rule::kMove || rule == Rule::kSelect || rule == Rule::kBits || rule == Rule::kStep)
      for (int lane = 0; lane < lanes; ++lane) gather_raw(made, part, lane);
    else
      for (int lane = 0; lane < lanes; ++lane) gather_numbers(made, part, lane);
  }

 private:
  bool is_dwords() const {
    if (inst_.dst.sel != isa::Sel::kDword) return false;
    for (const Operand& operand : inst_.src)
      if (operand.sel != isa::Sel::kDword) return false;
    return true;
  }

  // Registers found by an index are not followed; parts of registers as far as they are numbers.
  bool is_followed(const RuleRow& row) const {
    if (wave_.vgpr_index != 0) return false;
    if (!inst_.sdwa || is_dwords() || row.rule == Rule::kBits) return true;
    const auto is_half = [](isa::Sel sel) {
      return sel == isa::Sel::kDword || sel == isa::Sel::kWord0 || sel == isa::Sel::kWord1;
    };
    const auto is_fine = [&](isa::Sel sel, uint8_t bits) {
      return bits == 16 ? is_half(sel) : sel == isa::Sel::kDword;
    };
    if (!is_fine(inst_.dst.sel, row.result_bits)) return false;
    if (row.rule == Rule::kFromSigned || row.rule == Rule::kFromUnsigned) return true;
    for (size_t i = 0; i < row.sources && i < std::size(inst_.src); ++i)
      if (!is_fine(inst_.src[i].sel, row.source_bits)) return false;
    return true;
  }

  void gather_raw(ShadowOperation& made, uint32_t part, int lane) const {
    if (made.row.rule == Rule::kSelect) {
      const uint64_t mask = wave_.read_mask(inst_.src[2]);
      made.raw[lane][0] = raw((mask >> lane & 1) != 0 ? 1 : 0, 0, lane);
      return;
    }
    for (size_t i = 0; i < made.row.sources; ++i) made.raw[lane][i] = raw(i, part, lane);
  }

  RawSample raw(size_t number, uint32_t part, int lane) const {
    const size_t place = is_swap() ? 1 - part : inst_.op == Op::v_pk_mov_b32 ? part : number;
    const Operand& operand = inst_.src[place];
    const int from = number == 0 ? source_lane(wave_, inst_, lane) : lane;
    if (from < 0) return {};
    const uint32_t dword = inst_.op == Op::v_pk_mov_b32 ? (operand.op_sel ? 1 : 0)
                           : inst_.dst.dwords == 2      ? part
                                                        : 0;
    RawSample sample = word(operand, dword, from);
    if (operand.neg || operand.abs) change_sign(operand, sample);
    return sample;
  }

  // A move with modifiers, v_cndmask_b32 say: of a number of 32 bits.
  static void change_sign(const Operand& operand, RawSample& sample) {
    Sample number = sample32(sample);
    if (number.cell.kind != CellKind::kF32) return;
    apply_modifiers(operand.neg, operand.abs, number);
    sample.cells = WordCells::of(number.cell);
  }

  void gather_numbers(ShadowOperation& made, uint32_t part, int lane) const {
    if (made.row.rule == Rule::kDot2) return gather_dot(made, lane);
    const bool is_conversion = inst_.op == Op::v_cvt_pkrtz_f16_f32;
    for (size_t i = 0; i < made.row.sources; ++i)
      made.source[lane][i] = source(made.row, is_conversion ? part : i, part, lane);
  }

  // Both halves of the first two sources, and the third.
  void gather_dot(ShadowOperation& made, int lane) const {
    for (size_t i = 0; i < 2; ++i) {
      const Operand& operand = inst_.src[i];
      const int from = i == 0 ? source_lane(wave_, inst_, lane) : lane;
      const RawSample both = from < 0 ? RawSample{} : word(operand, 0, from);
      for (const bool is_high : {false, true}) {
        Sample& sample = made.source[lane][2 * i + (is_high ? 1 : 0)];
        sample = sample16(both, is_high ? operand.op_sel_hi : operand.op_sel);
        apply_modifiers(is_high ? operand.abs : operand.neg, false, sample);
      }
    }
    Sample& sum = made.source[lane][4];
    sum = sample32(word(inst_.src[2], 0, lane));
    apply_modifiers(inst_.src[2].neg, inst_.src[2].abs, sum);
  }

  Sample source(const RuleRow& row, size_t number, uint32_t part, int lane) const {
    const Operand& operand = inst_.src[number];
    int from = lane;
    if (number == 0) from = source_lane(wave_, inst_, lane);
    if (from < 0) return {};
    if (row.rule == Rule::kFromSigned || row.rule == Rule::kFromUnsigned) {
      Sample sample = sample32(word(operand, 0, from));
      sample.bits = chosen_bits(operand, sample.bits);
      if (row.source_bits == 16) sample.bits &= 0xffff;
      return sample;
    }
    if (row.source_bits == 64) {
      const bool is_count = row.rule == Rule::kScale && number == 1;
      Sample sample = is_count ? sample32(word(operand, 0, from))
                               : sample64(word(operand, 0, from), word(operand, 1, from));
      apply_modifiers(operand.neg, operand.abs, sample);
      return sample;
    }
    if (is_packed(inst_.op) || is_packed_half(inst_.op)) {
      const bool high = part == 0 ? operand.op_sel : operand.op_sel_hi;
      Sample sample = is_packed_half(inst_.op) ? sample16(word(operand, 0, from), high)
                                               : sample32(word(operand, high ? 1 : 0, from));
      apply_modifiers(part == 0 ? operand.neg : operand.abs, false, sample);
      return sample;
    }
    Sample sample = is_mixed(inst_.op) ? mixed(word(operand, 0, from), operand)
                    : row.source_bits == 16
                        ? sample16(word(operand, 0, from), operand.sel == isa::Sel::kWord1)
                        : sample32(word(operand, 0, from));
    apply_modifiers(operand.neg, operand.abs, sample);
    return sample;
  }

  bool is_swap() const { return inst_.op == Op::v_swap_b32; }
  RawSample word(const Operand& operand, uint32_t dword, int lane) const {
    return word_of(wave_, registers_, operand, dword, lane);
  }

  const Wave& wave_;
  const ShadowRegisters& registers_;
  const Inst& inst_;
};

size_t find_of(const Wave& wave, const ShadowRegisters& registers, const Inst& inst,
               ShadowOperation* made) {
  const RuleRow row = rule_of(inst.op);
  if (row.rule == Rule::kWhole || inst.dst.is(OperandKind::kNone)) return 0;
  const Gatherer gatherer(wave, registers, inst);
  gatherer.gather(made[0], 0);
  const bool is_two = is_packed(inst.op) || is_pair_of_halves(inst.op) ||
                      inst.op == Op::v_mov_b64 || inst.op == Op::s_mov_b64;
  if (is_two) gatherer.gather(made[1], 1);
  if (inst.op == Op::v_swap_b32) {
    gatherer.gather(made[1], 1);
    made[1].dst = inst.dst2;
    made[1].reg = inst.dst2.index;
    return 2;
  }
  if (row.rule == Rule::kUnknown) {
    // However many registers it writes: a matrix instruction has up to 32.
    made[0].dst.dwords = inst.dst.dwords;
    return 1;
  }
  return is_two ? 2 : 1;
}

}  // namespace

Cell ShadowOperation::number(const Wave& wave, int lane, uint32_t low, uint32_t high) const {
  const double actual =
      is_half() ? static_cast<double>(emu::half_to_float(is_high ? low >> 16 : low & 0xffff))
      : row.result_bits == 64 ? f64_of(low, high)
                              : f32_of(low);
  Cell cell = evaluate(row, {source[lane], row.sources}, actual, low);
  if (cell.is_exact() || cell.is_lost()) return cell;
  constexpr double kOmod[] = {1, 2, 4, 0.5};
  // As hardware has it: not with IEEE rules, not where denormals are kept.
  const uint8_t denormals = row.result_bits == 32 ? wave.mode.denorm_f32 : wave.mode.denorm_f16_f64;
  if (row.rule != Rule::kPick && !wave.mode.ieee && (denormals & 2) == 0) {
    cell.value *= kOmod[omod & 3];
    cell.bound *= kOmod[omod & 3];
  }
  if (clamp && (cell.value < 0 || cell.value > 1)) return {};
  return cell;
}

WordCells ShadowOperation::result(const Wave& wave, int lane) const {
  const auto read = [&](uint32_t number) {
    return is_scalar() ? wave.s[number] : register_bits(wave, file(), number, lane);
  };
  const uint32_t low = read(reg);
  switch (row.rule) {
    case Rule::kUnknown: return WordCells::of(kUnknownCell);
    case Rule::kWhole: return {};
    case Rule::kMove:
    case Rule::kSelect: return raw[lane][0].cells;
    case Rule::kBits:
    case Rule::kStep: return evaluate_bits(row, {raw[lane], row.sources}, low);
    default: break;
  }
  const Cell cell = number(wave, lane, low, row.result_bits == 64 ? read(reg + 1u) : 0);
  if (!is_half()) return WordCells::of(cell);
  WordCells made;
  made.set_half(is_high, cell);
  return made;
}

size_t find_operations(const Wave& wave, const ShadowRegisters& registers, const Inst& inst,
                       ShadowOperation* made) {
  size_t count = find_of(wave, registers, inst, made);
  if (inst.vopd_first) count += find_of(wave, registers, (&inst)[1], made + count);
  return count;
}

}  // namespace wavetap::proof
