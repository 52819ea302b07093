#include "isa/lift.h"

#include <algorithm>
#include <string_view>

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {
namespace {

// A 32-bit literal of a 64-bit integer operand is sign-extended by operations on signed numbers.
bool is_signed_64(Op op) {
  const std::string_view name = op_name(op);
  return name.ends_with("_i64") || name == "v_mad_i64_i32";
}

// Cache policy bits of LLVM's cpol operand.
constexpr int64_t kGlc = 1;  // gfx940: sc0
constexpr int64_t kSlc = 2;  // gfx940: nt
constexpr int64_t kDlc = 4;
constexpr int64_t kScc = 16;  // gfx90a: scc, gfx940: sc1

}  // namespace

Operand Lift::operand_at(int position) const {
  if (position < 0 || position >= static_cast<int>(mi_.getNumOperands())) return {};
  // A repeated result is read from where it is named: LLVM fills the repetition in wrongly for some
  // pairs.
  if (position < static_cast<int>(info_.tied_to.size()) &&
      info_.tied_to[static_cast<size_t>(position)] >= 0)
    position = info_.tied_to[static_cast<size_t>(position)];
  const llvm::MCOperand& operand = mi_.getOperand(static_cast<unsigned>(position));
  if (operand.isReg()) {
    Operand reg = mc_.reg(operand.getReg());
    if (reg.is(OperandKind::kScalar) && reg.index == slot::kNull &&
        position < static_cast<int>(info_.register_dwords.size()))
      reg.dwords =
          std::max<uint8_t>(reg.dwords, info_.register_dwords[static_cast<size_t>(position)]);
    // gfx11: v128 and above in a 16-bit field is the high half of v0 and above.
    if (((info_.lo128 >> position) & 1) != 0 && reg.is(OperandKind::kVgpr) && reg.index >= 128) {
      reg.index = static_cast<uint16_t>(reg.index - 128);
      reg.sel = Sel::kWord1;
    }
    return reg;
  }
  Operand value;
  value.kind = OperandKind::kImm;
  value.dwords = 1;
  value.imm = static_cast<uint64_t>(operand.getImm());
  return value;
}

Operand Lift::source_at(int position, uint32_t field) const {
  Operand operand = operand_at(position);
  if (!operand.is(OperandKind::kImm)) return operand;
  const auto type = static_cast<SourceType>(info_.operand_type[static_cast<size_t>(position)]);
  if (type == SourceType::kNone) return operand;
  const bool is_k = type == SourceType::kLiteral32 || type == SourceType::kLiteral16;
  if (is_k || is_inline_constant(field) || field == kLiteralField)
    operand.imm = expand_constant(type, field, encoded_.literal(), is_signed_64(out_.op));
  operand.dwords = dwords_of(type);
  return operand;
}

Operand Lift::named(Name name) const { return operand_at(info_.position(name)); }

int64_t Lift::imm(Name name) const {
  const int position = info_.position(name);
  if (position < 0 || position >= static_cast<int>(mi_.getNumOperands())) return 0;
  const llvm::MCOperand& operand = mi_.getOperand(static_cast<unsigned>(position));
  return operand.isImm() ? operand.getImm() : 0;
}

Operand Lift::mask_operand(uint16_t first_slot) const {
  Operand mask;
  mask.kind = OperandKind::kScalar;
  mask.index = first_slot;
  mask.dwords = mc_.wave64() ? 2 : 1;
  return mask;
}

void Lift::cache_policy() {
  const int64_t policy = imm(Name::cpol);
  out_.glc = (policy & kGlc) != 0;
  out_.slc = (policy & kSlc) != 0;
  out_.dlc = (policy & (mc_.target().major == 9 ? kScc : kDlc)) != 0;
}

bool Lift::run(TrueSixteen true16, Inst& out_y) {
  out_.op = info_.op;
  out_.family = info_.family;
  out_.size_bytes = static_cast<uint8_t>(encoded_.size_bytes);
  out_.implied_reads = info_.implied_reads;
  out_.implied_writes = info_.implied_writes;
  if (info_.op == Op::kInvalid) return false;
  switch (info_.encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopc: sop(); break;
    case Encoding::kSopk: sopk(); break;
    case Encoding::kSopp: sopp(); break;
    case Encoding::kSmem: smem(); break;
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
    case Encoding::kVop3p:
      vop();
      half_result(true16);
      break;
    case Encoding::kVopd: return vopd(out_y);
    case Encoding::kDs: ds(); break;
    case Encoding::kFlat: flat(); break;
    case Encoding::kMubuf:
    case Encoding::kMtbuf: mubuf(); break;
    case Encoding::kMimg: image(); break;
    case Encoding::kOther: out_.dst = named(Name::vdst); break;
    case Encoding::kVinterp:
    case Encoding::kNone: break;  // known by name only
  }
  return true;
}

}  // namespace wavetap::isa
