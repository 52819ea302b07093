// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

#include <string_view>

#include "isa/lift.h"

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {

// SOP1 has no operand names in LLVM; for all three the order is result, sources. A source that only
// repeats a tied result (s_fmac, s_bitset) is kept: the assembler text does not show it, the
// operation reads it.
void Lift::sop() {
  int position = 0;
  if (info_.defs > 0) out_.dst = operand_at(position++);
  const uint32_t fields[] = {encoded_.dword[0] & 0xff, (encoded_.dword[0] >> 8) & 0xff, 0};
  // The literal K of s_fmaak and s_fmamk has no field; source_at() knows it by its type.
  int field = 0;
  for (int i = 0; i < 3 && position < static_cast<int>(mi_.getNumOperands()); ++i, ++position) {
    const auto type = static_cast<SourceType>(info_.operand_type[static_cast<size_t>(position)]);
    const bool is_k = type == SourceType::kLiteral32 || type == SourceType::kLiteral16;
    out_.src[i] = source_at(position, is_k ? kLiteralField : fields[field]);
    if (!is_k && field < 2) ++field;
  }
}

// s_movk, s_cmovk: dst. s_addk, s_mulk, s_subvector_loop_*: dst, src[0] the same register. s_cmpk,
// s_setreg, s_waitcnt_*cnt: src[0]. s_setreg_imm32: src[0] the literal. The immediate is in imm16.
void Lift::sopk() {
  const auto raw = static_cast<uint16_t>(encoded_.dword[0]);
  const std::string_view name = op_name(out_.op);
  const bool zero_extended = name.starts_with("s_getreg") || name.starts_with("s_setreg") ||
                             name.starts_with("s_waitcnt") || name == "s_version" ||
                             (name.starts_with("s_cmpk") && name.ends_with("_u32"));
  out_.imm16 = zero_extended ? raw : static_cast<int16_t>(raw);
  const Operand sdst = named(Name::sdst);
  if (info_.defs > 0) {
    out_.dst = sdst;
    if (info_.has(Name::src0)) out_.src[0] = named(Name::src0);
  } else {
    out_.src[0] = sdst;
  }
  // The mask that waits is read or written.
  if (out_.op == Op::s_subvector_loop_begin || out_.op == Op::s_subvector_loop_end) out_.dst = sdst;
  if (!info_.has(Name::imm)) return;
  out_.src[0].kind = OperandKind::kImm;
  out_.src[0].dwords = 1;
  out_.src[0].imm = encoded_.literal();
}

void Lift::sopp() {
  const auto raw = static_cast<uint16_t>(encoded_.dword[0]);
  out_.imm16 = is_relative_jump(out_.op) ? static_cast<int16_t>(raw) : raw;
}

// Loads: dst. Stores: src[0]. Atomics: src[0], and dst when the old value is returned.
void Lift::smem() {
  out_.dst = named(Name::sdst);
  out_.src[0] = named(Name::sdata);
  out_.saddr = named(Name::sbase);
  out_.soffset = named(Name::soffset);
  out_.offset = static_cast<int32_t>(imm(Name::offset));
  cache_policy();
}

}  // namespace wavetap::isa
