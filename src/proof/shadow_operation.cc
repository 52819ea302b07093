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

// One dword of an operand: its bits, and what is known of them.
struct Word {
  uint32_t bits = 0;
  Cell cell;
};

Word word_of(const Wave& wave, const ShadowRegisters& registers, const Operand& operand,
             uint32_t dword, int lane) {
  const uint32_t index = operand.index + dword;
  switch (operand.kind) {
    case OperandKind::kVgpr:
      return {register_bits(wave, RegisterFile::kVgpr, index, lane),
              registers.vector(RegisterFile::kVgpr, index, lane)};
    case OperandKind::kAgpr:
      return {register_bits(wave, RegisterFile::kAgpr, index, lane),
              registers.vector(RegisterFile::kAgpr, index, lane)};
    case OperandKind::kScalar: {
      Operand one = operand;
      one.index = static_cast<uint16_t>(index);
      one.dwords = 1;
      return {wave.read_s32(one), registers.scalar(wave, index)};
    }
    case OperandKind::kImm: return {static_cast<uint32_t>(operand.imm >> 32 * dword), {}};
    case OperandKind::kNone: break;
  }
  return {};
}

Sample sample32(const Word& word) {
  Sample sample{f32_of(word.bits), word.cell, word.bits};
  if (word.cell.kind != CellKind::kF32 && !sample.is_lost())
    sample.cell = {sample.actual, 0, word.cell.kind};
  return sample;
}

Sample sample64(const Word& low, const Word& high) {
  Sample sample{f64_of(low.bits, high.bits), {}, low.bits};
  Sample halves[2];
  halves[0].cell = low.cell;
  halves[1].cell = high.cell;
  if (halves[0].is_lost()) sample.cell.kind = low.cell.kind;
  else if (halves[1].is_lost()) sample.cell.kind = high.cell.kind;
  else if (low.cell.kind == CellKind::kF64 && high.cell.kind == CellKind::kF64High)
    sample.cell = low.cell;
  else sample.cell = {sample.actual, 0, CellKind::kExact};
  return sample;
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
bool is_mixed(Op op) { return op == Op::v_fma_mix_f32 || op == Op::v_mad_mix_f32; }

// A source of v_fma_mix_f32: an f32, or one of two halves, which are as they are.
Sample mixed(const Word& word, const Operand& operand) {
  if (!operand.op_sel_hi) return sample32(word);
  const float value = emu::half_to_float((operand.op_sel ? word.bits >> 16 : word.bits) & 0xffff);
  const bool is_known =
      word.cell.kind != CellKind::kUnknown && word.cell.kind != CellKind::kOverflow;
  const CellKind kind = is_known ? CellKind::kExact : word.cell.kind;
  return {static_cast<double>(value), {static_cast<double>(value), 0, kind}, word.bits};
}

class Gatherer {
 public:
  Gatherer(const Wave& wave, const ShadowRegisters& registers, const Inst& inst)
      : wave_(wave), registers_(registers), inst_(inst) {}

  // `dword`: of a result that has several, each computed by itself.
  void gather(ShadowOperation& made, uint32_t dword) const {
    made.dst = inst_.dst;
    made.reg = static_cast<uint16_t>(inst_.dst.index + dword);
    made.clamp = inst_.clamp;
    made.omod = inst_.omod;
    made.row = rule_of(inst_.op);
    if (!is_followed()) {
      const bool is_bits = made.row.rule == Rule::kSign || made.row.rule == Rule::kStep;
      made.row.rule = is_bits ? Rule::kWhole : Rule::kUnknown;
    }
    if (made.row.rule == Rule::kUnknown || made.row.rule == Rule::kWhole) return;
    const int lanes = made.is_scalar() ? 1 : wave_.lanes;
    const uint64_t mask = made.row.rule == Rule::kSelect ? wave_.read_mask(inst_.src[2]) : 0;
    for (int lane = 0; lane < lanes; ++lane) {
      if (made.row.rule == Rule::kSelect)
        made.source[lane][0] = source(made.row, (mask >> lane & 1) != 0 ? 1 : 0, dword, lane);
      else
        for (size_t i = 0; i < made.row.sources; ++i)
          made.source[lane][i] = source(made.row, i, dword, lane);
    }
  }

 private:
  // Parts of registers and registers found by an index are not followed.
  bool is_followed() const {
    if (wave_.vgpr_index != 0) return false;
    if (!inst_.sdwa) return true;
    if (inst_.dst.sel != isa::Sel::kDword) return false;
    for (const Operand& operand : inst_.src)
      if (operand.sel != isa::Sel::kDword) return false;
    return true;
  }

  Sample source(const RuleRow& row, size_t number, uint32_t dword, int lane) const {
    const size_t place = is_swap() ? 1 - dword : inst_.op == Op::v_pk_mov_b32 ? dword : number;
    const Operand& operand = inst_.src[place];
    int from = lane;
    if (number == 0) from = source_lane(wave_, inst_, lane);
    if (from < 0) return {};
    if (row.source_bits == 64) {
      const bool is_count = row.rule == Rule::kScale && number == 1;
      Sample sample = is_count ? sample32(word(operand, 0, from))
                               : sample64(word(operand, 0, from), word(operand, 1, from));
      apply_modifiers(operand.neg, operand.abs, sample);
      return sample;
    }
    if (is_packed(inst_.op)) {
      const bool high =
          inst_.op == Op::v_pk_mov_b32 || dword == 0 ? operand.op_sel : operand.op_sel_hi;
      Sample sample = sample32(word(operand, high ? 1 : 0, from));
      apply_modifiers(dword == 0 ? operand.neg : operand.abs, false, sample);
      return sample;
    }
    const uint32_t part = row.rule == Rule::kMove && inst_.dst.dwords == 2 ? dword : 0;
    Sample sample = is_mixed(inst_.op) ? mixed(word(operand, 0, from), operand)
                                       : sample32(word(operand, part, from));
    apply_modifiers(operand.neg, operand.abs, sample);
    return sample;
  }

  bool is_swap() const { return inst_.op == Op::v_swap_b32; }
  Word word(const Operand& operand, uint32_t dword, int lane) const {
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
  const bool is_two = is_packed(inst.op) || inst.op == Op::v_mov_b64 || inst.op == Op::s_mov_b64;
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

Cell ShadowOperation::result(const Wave& wave, int lane) const {
  const auto read = [&](uint32_t number) {
    return is_scalar() ? wave.s[number] : register_bits(wave, file(), number, lane);
  };
  const uint32_t low = read(reg);
  const double actual = row.result_bits == 64 ? f64_of(low, read(reg + 1u)) : f32_of(low);
  Cell cell = evaluate(row, {source[lane], row.rule == Rule::kSelect ? size_t{1} : row.sources},
                       actual, low);
  if (cell.kind != CellKind::kF32 && cell.kind != CellKind::kF64) return cell;
  constexpr double kOmod[] = {1, 2, 4, 0.5};
  const bool is_moved =
      row.rule == Rule::kMove || row.rule == Rule::kSelect || row.rule == Rule::kPick;
  // As hardware has it: not with IEEE rules, not where denormals are kept.
  const uint8_t denormals = row.result_bits == 64 ? wave.mode.denorm_f16_f64 : wave.mode.denorm_f32;
  if (!is_moved && !wave.mode.ieee && (denormals & 2) == 0) {
    cell.value *= kOmod[omod & 3];
    cell.bound *= kOmod[omod & 3];
  }
  if (clamp && (cell.value < 0 || cell.value > 1)) return {};
  return cell;
}

size_t find_operations(const Wave& wave, const ShadowRegisters& registers, const Inst& inst,
                       ShadowOperation* made) {
  size_t count = find_of(wave, registers, inst, made);
  if (inst.vopd_first) count += find_of(wave, registers, (&inst)[1], made + count);
  return count;
}

}  // namespace wavetap::proof
