#include "isa/dump.h"

#include <cstdarg>
#include <cstdio>

namespace wavetap::isa {
namespace {

void append(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));
void append(std::string& out, const char* format, ...) {
  char text[96];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  out += text;
}

struct SlotName {
  uint16_t slot;
  const char* one;
  const char* two;
};

constexpr SlotName kSlotNames[] = {
    {slot::kVccLo, "vcc_lo", "vcc"},
    {slot::kVccHi, "vcc_hi", "vcc_hi?"},
    {slot::kM0, "m0", "m0?"},
    {slot::kNull, "null", "null2"},
    {slot::kExecLo, "exec_lo", "exec"},
    {slot::kExecHi, "exec_hi", "exec_hi?"},
    {slot::kFlatScratchLo, "flat_scratch_lo", "flat_scratch"},
    {slot::kFlatScratchHi, "flat_scratch_hi", "flat_scratch_hi?"},
    {slot::kXnackMaskLo, "xnack_mask_lo", "xnack_mask"},
    {slot::kXnackMaskHi, "xnack_mask_hi", "xnack_mask_hi?"},
    {slot::kSharedBase, "shared_base_lo", "shared_base"},
    {slot::kSharedLimit, "shared_limit_lo", "shared_limit"},
    {slot::kPrivateBase, "private_base_lo", "private_base"},
    {slot::kPrivateLimit, "private_limit_lo", "private_limit"},
    {slot::kPopsExitingWaveId, "pops_exiting_wave_id", "pops_exiting_wave_id"},
    {slot::kScc, "scc", "scc"},
    {slot::kVccz, "vccz", "vccz"},
    {slot::kExecz, "execz", "execz"},
    {slot::kLdsDirect, "lds_direct", "lds_direct"},
};

void append_range(std::string& out, char file, unsigned index, unsigned dwords) {
  if (dwords <= 1) {
    append(out, "%c%u", file, index);
  } else {
    append(out, "%c[%u:%u]", file, index, index + dwords - 1);
  }
}

void append_scalar(std::string& out, const Operand& operand) {
  for (const SlotName& name : kSlotNames) {
    if (name.slot != operand.index) continue;
    out += operand.dwords <= 1 ? name.one : name.two;
    return;
  }
  if (operand.index >= slot::kTtmp0 && operand.index < slot::kTtmp0 + 16) {
    out += "ttmp:";
    append_range(out, 't', operand.index - slot::kTtmp0, operand.dwords);
    return;
  }
  append_range(out, 's', operand.index, operand.dwords);
}

const char* sel_name(Sel sel) {
  constexpr const char* kNames[] = {"", ".b0", ".b1", ".b2", ".b3", ".w0", ".w1"};
  return kNames[static_cast<int>(sel)];
}

void flag(std::string& out, bool set, const char* name) {
  if (!set) return;
  out += ' ';
  out += name;
}

void number(std::string& out, int64_t value, const char* name) {
  if (value != 0) append(out, " %s:%lld", name, static_cast<long long>(value));
}

void append_vector_modifiers(std::string& out, const Inst& inst) {
  flag(out, inst.clamp, "clamp");
  number(out, inst.omod, "omod");
  flag(out, inst.sdwa, "sdwa");
  flag(out, inst.dst_preserve, "preserve");
  flag(out, inst.dst_sext, "dst_sext");
  if (inst.dpp == Dpp::kDpp16)
    append(out, " dpp16:0x%x row_mask:0x%x bank_mask:0x%x", inst.dpp_ctrl, inst.row_mask,
           inst.bank_mask);
  if (inst.dpp == Dpp::kDpp8) append(out, " dpp8:0x%x", inst.dpp8);
  flag(out, inst.bound_ctrl, "bound_ctrl");
  flag(out, inst.fetch_inactive, "fi");
  number(out, inst.cbsz, "cbsz");
  number(out, inst.abid, "abid");
  number(out, inst.blgp, "blgp");
}

void append_memory(std::string& out, const Inst& inst) {
  const auto operand = [&](const Operand& value, const char* name) {
    if (value.is(OperandKind::kNone)) return;
    append(out, " %s:", name);
    out += dump(value);
  };
  operand(inst.vaddr, "vaddr");
  operand(inst.saddr, "saddr");
  operand(inst.soffset, "soffset");
  number(out, inst.offset, "offset");
  number(out, inst.offset1, "offset1");
  flag(out, inst.glc, "glc");
  flag(out, inst.slc, "slc");
  flag(out, inst.dlc, "dlc");
  flag(out, inst.lds, "lds");
  flag(out, inst.gds, "gds");
  flag(out, inst.offen, "offen");
  flag(out, inst.idxen, "idxen");
  flag(out, inst.addr64, "addr64");
  flag(out, inst.tfe, "tfe");
  number(out, inst.format, "format");
  for (int i = 0; i < inst.nsa_count; ++i) append(out, " v%u", inst.nsa[i]);
  const bool is_image = inst.family == Family::kImage && !inst.saddr.is(OperandKind::kNone);
  if (is_image) append(out, " dmask:%x", inst.dmask);
  if (is_image && inst.dim != ImageDim::kFromResource)
    append(out, " dim:%d", static_cast<int>(inst.dim));
  flag(out, inst.unorm, "unorm");
  flag(out, inst.a16, "a16");
  flag(out, inst.d16, "d16");
  flag(out, inst.r128, "r128");
  flag(out, inst.is_array, "array");
}

}  // namespace

std::string dump(const Operand& operand) {
  std::string out;
  if (operand.neg) out += '-';
  if (operand.sext) out += "sext ";
  if (operand.abs) out += '|';
  switch (operand.kind) {
    case OperandKind::kNone: out += '_'; break;
    case OperandKind::kScalar: append_scalar(out, operand); break;
    case OperandKind::kVgpr: append_range(out, 'v', operand.index, operand.dwords); break;
    case OperandKind::kAgpr: append_range(out, 'a', operand.index, operand.dwords); break;
    case OperandKind::kImm:
      append(out, "#%llx", static_cast<unsigned long long>(operand.imm));
      if (operand.dwords > 1) append(out, "/%u", operand.dwords);
      break;
  }
  out += sel_name(operand.sel);
  if (operand.op_sel || operand.op_sel_hi)
    append(out, "(%d,%d)", operand.op_sel, operand.op_sel_hi);
  if (operand.abs) out += '|';
  return out;
}

std::string dump(const Inst& inst) {
  std::string out = op_name(inst.op);
  if (inst.op == Op::kInvalid) return out;
  bool has_result = false;
  for (const Operand* result : {&inst.dst, &inst.dst2}) {
    if (result->is(OperandKind::kNone)) continue;
    out += has_result ? ", " : " ";
    out += dump(*result);
    has_result = true;
  }
  if (has_result) out += " =";
  int last = 3;
  while (last >= 0 && inst.src[last].is(OperandKind::kNone)) --last;
  for (int i = 0; i <= last; ++i) {
    out += i == 0 ? " " : ", ";
    out += dump(inst.src[i]);
  }
  append_vector_modifiers(out, inst);
  append_memory(out, inst);
  number(out, inst.imm16, "imm16");
  if (inst.target >= 0) append(out, " target:%d", inst.target);
  flag(out, inst.vopd_first, "::");
  return out;
}

}  // namespace wavetap::isa
