#include "sanitize/register_set.h"

#include <algorithm>
#include <string_view>

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;

void add_operand(const isa::Operand& operand, RegisterSet& set) {
  const uint32_t count = std::max<uint32_t>(operand.dwords, 1);
  if (operand.is(isa::OperandKind::kScalar) && operand.index == isa::slot::kVccz)
    set.add(RegisterFile::kScalar, isa::slot::kVccLo, 2);
  switch (operand.kind) {
    case isa::OperandKind::kScalar: set.add(RegisterFile::kScalar, operand.index, count); break;
    case isa::OperandKind::kVgpr: set.add(RegisterFile::kVgpr, operand.index, count); break;
    case isa::OperandKind::kAgpr: set.add(RegisterFile::kAgpr, operand.index, count); break;
    default: break;
  }
}

void add_implied(uint8_t bits, RegisterSet& set) {
  namespace implied = isa::implied;
  struct Row {
    uint8_t bit;
    uint32_t first, count;
  };
  static constexpr Row kRows[] = {{implied::kScc, isa::slot::kScc, 1},
                                  {implied::kVcc, isa::slot::kVccLo, 2},
                                  {implied::kExec, isa::slot::kExecLo, 2},
                                  {implied::kM0, isa::slot::kM0, 1},
                                  {implied::kFlatScratch, isa::slot::kFlatScratchLo, 2}};
  for (const Row& row : kRows)
    if ((bits & row.bit) != 0) set.add(RegisterFile::kScalar, row.first, row.count);
}

void add_instruction(const isa::Inst& inst, NamedRegisters& named) {
  const std::string_view name = isa::op_name(inst.op);
  const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  // An index mode outlasts the instruction that sets it.
  named.may_use_others |=
      inst.family == isa::Family::kImage || has("movrel") || has("swaprel") || has("gpr_idx");
  for (const isa::Operand* operand : {&inst.src[0], &inst.src[1], &inst.src[2], &inst.src[3],
                                      &inst.vaddr, &inst.saddr, &inst.soffset})
    add_operand(*operand, named.reads);
  for (const isa::Operand* operand : {&inst.dst, &inst.dst2}) add_operand(*operand, named.writes);
  add_implied(inst.implied_reads, named.reads);
  add_implied(inst.implied_writes, named.writes);
}

}  // namespace

NamedRegisters named_registers(const isa::Inst& inst) {
  NamedRegisters named;
  add_instruction(inst, named);
  if (inst.vopd_first) add_instruction((&inst)[1], named);
  return named;
}

}  // namespace wavetap::sanitize
