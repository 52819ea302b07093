#include "sanitize/fpcheck.h"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <new>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "sanitize/fp_operation.h"

namespace wavetap::sanitize {
namespace {

// Lanes by what they hold.
struct Classes {
  uint64_t nan = 0;
  uint64_t infinite = 0;
  uint64_t denormal = 0;
  uint64_t zero = 0;

  void add(uint64_t bits, int exponent_bits, int mantissa_bits, uint64_t lane) {
    const uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
    const uint64_t full = (uint64_t{1} << exponent_bits) - 1;
    const uint64_t exponent = bits >> mantissa_bits & full;
    if (exponent == full) (mantissa != 0 ? nan : infinite) |= lane;
    else if (exponent == 0) (mantissa != 0 ? denormal : zero) |= lane;
  }
  void add(FpType type, uint64_t bits, uint64_t lane) {
    switch (type) {
      case FpType::kF16: return add(bits, 5, 10, lane);
      case FpType::kF32: return add(bits, 8, 23, lane);
      case FpType::kF64: return add(bits, 11, 52, lane);
      case FpType::kInteger:
      case FpType::kNone: break;
    }
  }
};

// One lane's value of an operand, as the operation has it; `part` 1: the second of a packed one.
uint64_t value_of(emu::Wave& wave, const isa::Operand& operand, FpType type, bool is_packed,
                  int part, int lane) {
  const bool is_wide = type == FpType::kF64;
  const uint32_t second = is_packed && type == FpType::kF32 ? static_cast<uint32_t>(part) : 0;
  uint64_t value = 0;
  switch (operand.kind) {
    case isa::OperandKind::kVgpr:
    case isa::OperandKind::kAgpr: {
      const bool is_vgpr = operand.kind == isa::OperandKind::kVgpr;
      const uint32_t count = is_vgpr ? wave.vgpr_count : wave.agpr_count;
      const uint32_t reg = operand.index + second;
      if (reg + (is_wide ? 1 : 0) >= count) return 0;
      value = (is_vgpr ? wave.vrow(reg) : wave.arow(reg))[lane];
      if (is_wide)
        value |= uint64_t{(is_vgpr ? wave.vrow(reg + 1) : wave.arow(reg + 1))[lane]} << 32;
      break;
    }
    case isa::OperandKind::kScalar:
      value = is_wide ? wave.read_s64(operand) : wave.read_s32(operand);
      break;
    case isa::OperandKind::kImm: value = operand.imm; break;
    case isa::OperandKind::kNone: return 0;
  }
  if (type == FpType::kF16) {
    const bool is_high = is_packed ? part != 0 : operand.sel == isa::Sel::kWord1;
    value = is_high ? value >> 16 & 0xffff : value & 0xffff;
  }
  return value;
}

double as_double(FpType type, uint64_t bits) {
  if (type == FpType::kF64) return std::bit_cast<double>(bits);
  if (type == FpType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const auto exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto mantissa = static_cast<double>(bits & 0x3ff);
  if (exponent == 0x1f)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(mantissa, -24)
                       : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// A whole number of that size cannot hold it; what is behind the point does not count.
bool is_out_of_range(double value, uint8_t bits, bool is_signed) {
  if (std::isnan(value)) return true;
  const double whole = std::trunc(value);
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  return whole < low || whole >= high;
}

}  // namespace

// What the operands of the instruction that each wave is in are.
struct Fpcheck::Group {
  struct Wave {
    uint64_t lanes = 0;
    Classes operands[2];        // of the two results of a packed one
    uint64_t out_of_range = 0;  // of a conversion to whole numbers
  };
  std::vector<Wave> waves;
};

emu::Wants Fpcheck::wants(const isa::Program& program, int32_t index) noexcept {
  if (index == 0) division_steps_ = find_division_steps(program);
  const isa::Inst& inst = program.insts()[index];
  if (inst.family != isa::Family::kVop || inst.sdwa || inst.vopd_first) return {};
  const FpOperation operation = fp_operation_of(inst.op);
  if (operation.result == FpType::kNone || inst.dst.kind != isa::OperandKind::kVgpr ||
      division_steps_[static_cast<size_t>(index)])
    return {};
  return {.before = true, .after = true, .tag = operation.packed()};
}

void Fpcheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  auto* mine = new (std::nothrow) Group;
  if (mine != nullptr) mine->waves.resize(group.waves.size());
  state = mine;
}

void Fpcheck::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  delete static_cast<Group*>(state);
  state = nullptr;
}

void Fpcheck::before(const emu::WatchPoint& at) noexcept {
  if (at.state == nullptr) return;
  Group::Wave& mine = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  const FpOperation operation = FpOperation::unpacked(at.tag);
  mine = {};
  // Indexed registers are not those that the operands name.
  if (at.wave.vgpr_index != 0) return;
  mine.lanes = at.wave.exec();
  const bool splits = operation.is_packed && !operation.is_conversion;
  for (int i = operation.ends_division ? 1 : 0; i < 4; ++i) {
    const isa::Operand& source = at.inst.src[i];
    if (source.kind == isa::OperandKind::kNone) continue;
    emu::for_each_lane(mine.lanes, [&](int lane) {
      const uint64_t bit = uint64_t{1} << lane;
      for (int part = 0; part < (splits ? 2 : 1); ++part) {
        const uint64_t bits =
            value_of(at.wave, source, operation.operand, operation.is_packed && splits, part, lane);
        // Which half feeds which result is op_sel's; any of them does.
        mine.operands[0].add(operation.operand, bits, bit);
        if (operation.result == FpType::kInteger &&
            is_out_of_range(as_double(operation.operand, bits), operation.bits,
                            operation.is_signed))
          mine.out_of_range |= bit;
      }
    });
  }
}

void Fpcheck::after(const emu::WatchPoint& at) noexcept {
  if (at.state == nullptr) return;
  const Group::Wave& mine = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  if (mine.lanes == 0 || at.wave.state == emu::WaveState::kFaulted) return;
  const FpOperation operation = FpOperation::unpacked(at.tag);
  const Classes& from = mine.operands[0];
  Classes result;
  emu::for_each_lane(mine.lanes, [&](int lane) {
    for (int part = 0; part < (operation.is_packed ? 2 : 1); ++part)
      result.add(operation.result,
                 value_of(at.wave, at.inst.dst, operation.result, operation.is_packed, part, lane),
                 uint64_t{1} << lane);
  });
  const auto note = [&](Kind kind, uint64_t lanes) {
    if (lanes != 0) findings().add(finding_at(kind, at, lanes));
  };
  if (operation.is_conversion) {
    const uint64_t too_large = result.infinite & ~from.infinite & ~from.nan;
    const bool can_vanish = operation.result != FpType::kInteger;
    const uint64_t too_small = can_vanish ? result.zero & ~from.zero & mine.lanes : 0;
    return note(Kind::kLossyConversion, too_large | too_small | mine.out_of_range);
  }
  note(Kind::kNanBorn, result.nan & ~from.nan);
  note(Kind::kInfinityBorn, result.infinite & ~from.infinite & ~from.nan);
  note(Kind::kDenormalBorn, result.denormal & ~from.denormal);
}

}  // namespace wavetap::sanitize
