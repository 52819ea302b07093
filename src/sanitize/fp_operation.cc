#include "sanitize/fp_operation.h"

#include <algorithm>
#include <string_view>

namespace wavetap::sanitize {
namespace {

// How far before a v_div_fixup its steps begin, at most, with other work between them.
constexpr int32_t kDivisionReach = 96;

FpType type_named(std::string_view name, uint8_t* bits, bool* is_signed) {
  if (name == "f16") return FpType::kF16;
  if (name == "f32") return FpType::kF32;
  if (name == "f64") return FpType::kF64;
  *is_signed = name.starts_with('i');
  if (name == "i16" || name == "u16") *bits = 16;
  else if (name == "i32" || name == "u32") *bits = 32;
  else return FpType::kNone;
  return FpType::kInteger;
}

// Compute nothing new (min, max, moves between classes), or pass through odd values on purpose.
bool is_left_out(std::string_view name) {
  for (const std::string_view part :
       {"v_cmp",     "_max",      "_min",  "_med3",     "div_scale", "frexp",
        "_mix",      "interp",    "_dot",  "cube",      "pknorm",    "_norm_",
        "_sr_",      "fp8",       "bf8",   "_legacy",   "v_cvt_off", "v_cvt_flr",
        "v_cvt_rpi", "v_cvt_pk_", "ubyte", "trig_preop"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_named(isa::Op op, std::string_view part) {
  return std::string_view(isa::op_name(op)).find(part) != std::string_view::npos;
}

// Whether it writes one of the registers, of which it then takes those out.
bool takes_out(const isa::Operand& written, std::vector<uint16_t>& registers) {
  if (written.kind != isa::OperandKind::kVgpr) return false;
  return std::erase_if(registers, [&](uint16_t one) {
           return one >= written.index && one < written.index + std::max<int>(written.dwords, 1);
         }) != 0;
}

void add(const isa::Operand& read, std::vector<uint16_t>& registers) {
  if (read.kind != isa::OperandKind::kVgpr) return;
  for (uint16_t i = 0; i < std::max<uint16_t>(read.dwords, 1); ++i)
    registers.push_back(static_cast<uint16_t>(read.index + i));
}

void mark_division(const isa::Program& program, int32_t fixup, std::vector<bool>& steps) {
  const isa::Inst* const insts = program.insts();
  std::vector<uint16_t> registers;
  add(insts[fixup].src[0], registers);
  for (int32_t i = fixup - 1; i >= std::max(0, fixup - kDivisionReach) && !registers.empty(); --i) {
    const isa::Inst& inst = insts[i];
    if (inst.family != isa::Family::kVop || !takes_out(inst.dst, registers)) continue;
    steps[static_cast<size_t>(i)] = true;
    if (is_named(inst.op, "div_scale")) continue;
    for (const isa::Operand& source : inst.src) add(source, registers);
  }
}

}  // namespace

uintptr_t FpOperation::packed() const {
  return static_cast<uintptr_t>(result) | static_cast<uintptr_t>(operand) << 4 |
         static_cast<uintptr_t>(is_packed) << 8 | static_cast<uintptr_t>(is_conversion) << 9 |
         static_cast<uintptr_t>(is_signed) << 10 | static_cast<uintptr_t>(ends_division) << 11 |
         static_cast<uintptr_t>(bits) << 16;
}

FpOperation FpOperation::unpacked(uintptr_t tag) {
  FpOperation operation;
  operation.result = static_cast<FpType>(tag & 0xf);
  operation.operand = static_cast<FpType>(tag >> 4 & 0xf);
  operation.is_packed = (tag >> 8 & 1) != 0;
  operation.is_conversion = (tag >> 9 & 1) != 0;
  operation.is_signed = (tag >> 10 & 1) != 0;
  operation.ends_division = (tag >> 11 & 1) != 0;
  operation.bits = static_cast<uint8_t>(tag >> 16 & 0xff);
  return operation;
}

FpOperation fp_operation_of(isa::Op op) {
  std::string_view name = isa::op_name(op);
  if (!name.starts_with("v_") || is_left_out(name)) return {};
  FpOperation operation;
  uint8_t bits = 0;
  bool is_signed = false;
  if (name.starts_with("v_cvt_pkrtz_f16_f32")) {
    operation.result = FpType::kF16;
    operation.operand = FpType::kF32;
    operation.is_packed = operation.is_conversion = true;
    return operation;
  }
  if (name.starts_with("v_cvt_")) {
    name.remove_prefix(6);
    const size_t bar = name.find('_');
    if (bar == std::string_view::npos) return {};
    operation.result = type_named(name.substr(0, bar), &operation.bits, &operation.is_signed);
    operation.operand = type_named(name.substr(bar + 1), &bits, &is_signed);
    const bool is_float =
        operation.operand != FpType::kNone && operation.operand != FpType::kInteger;
    operation.is_conversion = true;
    return operation.result != FpType::kNone && is_float ? operation : FpOperation{};
  }
  const size_t bar = name.rfind('_');
  operation.result = operation.operand = type_named(name.substr(bar + 1), &bits, &is_signed);
  operation.is_packed = name.starts_with("v_pk_");
  operation.ends_division = name.starts_with("v_div_fixup");
  if (operation.result == FpType::kInteger) return {};
  return operation;
}

std::vector<bool> find_division_steps(const isa::Program& program) {
  std::vector<bool> steps(static_cast<size_t>(program.size()));
  for (size_t i = 0; i < steps.size(); ++i)
    if (is_named(program.insts()[static_cast<int32_t>(i)].op, "div_fixup"))
      mark_division(program, static_cast<int32_t>(i), steps);
  return steps;
}

}  // namespace wavetap::sanitize
