// VOP1, VOP2, VOPC, VOP3, VOP3P (packed, mixed, dot, matrix) with their SDWA and DPP forms, and
// VOPD.

#include <string_view>

#include "isa/half_result.h"
#include "isa/lift.h"

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {
namespace {

// Bits of LLVM's srcN_modifiers operands (SISrcMods). Bit 1 is abs, or neg_hi of packed operands.
constexpr uint32_t kNeg = 1;
constexpr uint32_t kAbs = 2;
constexpr uint32_t kOpSel = 4;
constexpr uint32_t kOpSelHi = 8;
constexpr uint32_t kDstOpSel = 8;  // in src0_modifiers of VOP3

// DPP8 keeps its fetch-inactive flag in the source field: 0xe9 without, 0xea with.
constexpr int64_t kDpp8FetchInactive = 0xea;

constexpr Name kSourceNames[] = {Name::src0, Name::src1, Name::src2};
constexpr Name kModifierNames[] = {Name::src0_modifiers, Name::src1_modifiers,
                                   Name::src2_modifiers};

// SDWA selects as encoded: bytes 0..3, words 0..1, dword.
Sel sdwa_sel(uint32_t encoded) {
  constexpr Sel kSels[] = {Sel::kByte0, Sel::kByte1, Sel::kByte2,
                           Sel::kByte3, Sel::kWord0, Sel::kWord1};
  return encoded < 6 ? kSels[encoded] : Sel::kDword;
}

bool is_mix(Op op) {
  switch (op) {
    case Op::v_mad_mix_f32:
    case Op::v_mad_mixlo_f16:
    case Op::v_mad_mixhi_f16:
    case Op::v_fma_mix_f32:
    case Op::v_fma_mixlo_f16:
    case Op::v_fma_mixhi_f16: return true;
    default: return false;
  }
}

bool has_carry_out(Op op) {
  switch (op) {
    case Op::v_add_co_u32:
    case Op::v_sub_co_u32:
    case Op::v_subrev_co_u32:
    case Op::v_addc_co_u32:
    case Op::v_subb_co_u32:
    case Op::v_subbrev_co_u32: return true;
    default: return false;
  }
}

bool has_mask_in(Op op) {
  switch (op) {
    case Op::v_addc_co_u32:
    case Op::v_subb_co_u32:
    case Op::v_subbrev_co_u32:
    case Op::v_cndmask_b32: return true;
    default: return false;
  }
}

// Packed and dot operations that also have a VOP2 encoding, which has no op_sel fields.
bool is_packed_accumulate(Op op) {
  const std::string_view name = op_name(op);
  return op == Op::v_pk_fmac_f16 ||
         (name.starts_with("v_dot") && name.find("c_") != std::string_view::npos);
}

bool is_cmpx(Op op) { return std::string_view(op_name(op)).starts_with("v_cmpx"); }

bool is_permlane16(Op op) { return op == Op::v_permlane16_b32 || op == Op::v_permlanex16_b32; }

}  // namespace

// The 9-bit field of source `source`, for constants; 0 where the encoding has none.
uint32_t Lift::vop_field(int source) const {
  if (info_.encoding == Encoding::kVop3 || info_.encoding == Encoding::kVop3p)
    return (encoded_.dword[1] >> (9 * source)) & 0x1ff;
  return source == 0 && !info_.sdwa && !info_.dpp ? encoded_.dword[0] & 0x1ff : 0;
}

void Lift::vop() {
  const Operand sdst = named(Name::sdst);
  if (info_.family == Family::kVopc) {
    out_.dst = sdst;
  } else {
    out_.dst = named(Name::vdst);
    out_.dst2 = info_.has(Name::vdst1) ? named(Name::vdst1) : sdst;
  }
  out_.clamp = imm(Name::clamp) != 0;
  out_.omod = static_cast<uint8_t>(imm(Name::omod));
  vop_sources();
  vop_implicit_vcc();
  if (info_.sdwa) sdwa();
  if (info_.dpp) dpp();
  if (info_.family == Family::kMatrix) matrix();
  if (is_permlane16(out_.op)) permlane();
}

// LLVM's operand order is the assembler's: src0, K, src1 for v_fmamk; src0, src1, index,
// accumulator for v_smfmac. A source tied to the result (v_mac, v_fmac, v_dot2c) is listed too.
void Lift::vop_sources() {
  int count = 0;
  for (int position = info_.defs; position < static_cast<int>(mi_.getNumOperands()) && count < 4;
       ++position) {
    if (position == info_.position(Name::imm) || position == info_.position(Name::idx)) {
      out_.src[count++] = source_at(position, kLiteralField);
      continue;
    }
    for (int source = 0; source < 3; ++source) {
      if (position != info_.position(kSourceNames[source])) continue;
      Operand operand = source_at(position, vop_field(source));
      const uint32_t mods = modifiers(kModifierNames[source]);
      operand.neg = (mods & kNeg) != 0;
      operand.abs = (mods & kAbs) != 0;
      if (info_.encoding == Encoding::kVop3p) {
        operand.op_sel = (mods & kOpSel) != 0;
        operand.op_sel_hi = (mods & kOpSelHi) != 0;
        // Mixed precision: op_sel_hi says whether the source is an f16 at all.
        if (is_mix(out_.op) && operand.is(OperandKind::kImm))
          operand.imm =
              expand_constant(operand.op_sel_hi ? SourceType::kPackedFp16 : SourceType::kFp32,
                              vop_field(source), encoded_.literal(), false);
      } else if ((mods & kOpSel) != 0) {
        operand.sel = Sel::kWord1;
      }
      out_.src[count++] = operand;
    }
  }
  if (is_packed_accumulate(out_.op)) {
    out_.src[2] = out_.dst;
    if (info_.encoding != Encoding::kVop3p)
      for (int source = 0; source < 3; ++source) out_.src[source].op_sel_hi = true;
  }
  // gfx11: LLVM drops op_sel of 16-bit VOP3 operations whose registers it models as whole.
  if (info_.encoding == Encoding::kVop3 && mc_.target().major >= 11 &&
      info_.family != Family::kMatrix && !is_permlane16(out_.op) &&
      !out_.dst2.is(OperandKind::kScalar)) {
    for (int source = 0; source < 3; ++source)
      if (((encoded_.dword[0] >> (11 + source)) & 1) != 0 &&
          out_.src[source].is(OperandKind::kVgpr))
        out_.src[source].sel = Sel::kWord1;
  }
}

// VCC as the implied operand of the short encodings.
void Lift::vop_implicit_vcc() {
  const Operand vcc = mask_operand(slot::kVccLo);
  if (info_.family == Family::kVopc) {
    const bool only_exec = is_cmpx(out_.op) && mc_.target().major >= 10;
    if (!info_.has(Name::sdst) && !only_exec) out_.dst = vcc;
    return;
  }
  if (has_carry_out(out_.op) && !info_.has(Name::sdst)) out_.dst2 = vcc;
  if (has_mask_in(out_.op) && !info_.has(Name::src2)) out_.src[2] = vcc;
  if (out_.op == Op::v_div_fmas_f32 || out_.op == Op::v_div_fmas_f64) out_.src[3] = vcc;
}

// Second dword: dst_sel 10:8, dst_unused 12:11, src0_sel 18:16, src0 sext 19, neg 20, abs 21, and
// the same 8 bits higher for src1. LLVM merges sext and neg, so they are read here.
void Lift::sdwa() {
  const uint32_t control = encoded_.dword[1];
  out_.sdwa = true;
  if (info_.has(Name::dst_sel)) {
    out_.dst.sel = sdwa_sel(static_cast<uint32_t>(imm(Name::dst_sel)));
    out_.dst_sext = imm(Name::dst_unused) == 1;
    out_.dst_preserve = imm(Name::dst_unused) == 2;
  }
  constexpr Name kSelNames[] = {Name::src0_sel, Name::src1_sel};
  for (int source = 0; source < 2; ++source) {
    if (!info_.has(kSelNames[source])) continue;
    Operand& operand = out_.src[source];
    const uint32_t bits = control >> (16 + 8 * source);
    operand.sel = sdwa_sel(static_cast<uint32_t>(imm(kSelNames[source])));
    operand.sext = ((bits >> 3) & 1) != 0;
    operand.neg = ((bits >> 4) & 1) != 0;
    operand.abs = ((bits >> 5) & 1) != 0;
  }
}

void Lift::dpp() {
  if (info_.has(Name::dpp8)) {
    out_.dpp = Dpp::kDpp8;
    out_.dpp8 = static_cast<uint32_t>(imm(Name::dpp8)) & 0xffffff;
    out_.fetch_inactive = imm(Name::fi) == kDpp8FetchInactive;
    return;
  }
  out_.dpp = Dpp::kDpp16;
  out_.dpp_ctrl = static_cast<uint16_t>(imm(Name::dpp_ctrl) & 0x1ff);
  out_.row_mask = static_cast<uint8_t>(imm(Name::row_mask) & 0xf);
  out_.bank_mask = static_cast<uint8_t>(imm(Name::bank_mask) & 0xf);
  out_.bound_ctrl = imm(Name::bound_ctrl) != 0;
  out_.fetch_inactive = imm(Name::fi) != 0;
}

// v_permlane16 and v_permlanex16 reuse op_sel: bit 0 fetches inactive lanes, bit 1 is bound_ctrl.
void Lift::permlane() {
  out_.fetch_inactive = (modifiers(Name::src0_modifiers) & kOpSel) != 0;
  out_.bound_ctrl = (modifiers(Name::src1_modifiers) & kOpSel) != 0;
  for (Operand& source : out_.src) source.sel = Sel::kDword;
}

// LLVM types the accumulator by its register class, so a constant there is expanded again for the
// element type, which the mnemonic names first.
void Lift::matrix() {
  const std::string_view name = op_name(out_.op);
  Operand& accumulator = out_.src[2];
  if (accumulator.is(OperandKind::kImm)) {
    const std::string_view element = name.substr(name.find('_', 2) + 1);
    SourceType type = SourceType::kFp32;
    if (element.starts_with("f64")) type = SourceType::kFp64;
    if (element.starts_with("i32")) type = SourceType::kInt32;
    if (element.starts_with("f16")) type = SourceType::kPackedFp16;
    if (element.starts_with("bf16")) type = SourceType::kPackedBf16;
    accumulator.imm = expand_constant(type, vop_field(2), encoded_.literal(), false);
    accumulator.dwords = dwords_of(type);
  }
  out_.cbsz = static_cast<uint8_t>(imm(Name::cbsz));
  out_.abid = static_cast<uint8_t>(imm(Name::abid));
  out_.blgp = static_cast<uint8_t>(imm(Name::blgp));
  // gfx940: the broadcast field of f64 operations negates A, B and C instead.
  if (mc_.target().is_gfx940_family() && name.starts_with("v_mfma_f64")) {
    for (int source = 0; source < 3; ++source)
      out_.src[source].neg = ((out_.blgp >> source) & 1) != 0;
    out_.blgp = 0;
  }
}

void Lift::half_result(TrueSixteen true16) {
  if (out_.sdwa || !out_.dst.is(OperandKind::kVgpr)) return;
  const uint32_t src0 = modifiers(Name::src0_modifiers);
  switch (out_.op) {
    case Op::v_mad_mixlo_f16:
    case Op::v_fma_mixlo_f16:
    case Op::v_mad_mixhi_f16:
    case Op::v_fma_mixhi_f16: {
      const bool high = out_.op == Op::v_mad_mixhi_f16 || out_.op == Op::v_fma_mixhi_f16;
      out_.dst.sel = high ? Sel::kWord1 : Sel::kWord0;
      out_.dst_preserve = true;
      return;
    }
    case Op::v_cvt_pk_fp8_f32:
    case Op::v_cvt_pk_bf8_f32:  // two bytes into the half that op_sel[3] names
      out_.dst.sel = (src0 & kDstOpSel) != 0 ? Sel::kWord1 : Sel::kWord0;
      out_.dst_preserve = true;
      return;
    case Op::v_cvt_sr_fp8_f32:
    case Op::v_cvt_sr_bf8_f32: {  // one byte, op_sel[3:2]
      const uint32_t low = (modifiers(Name::src2_modifiers) & kOpSel) != 0 ? 1 : 0;
      const uint32_t high = (src0 & kDstOpSel) != 0 ? 2 : 0;
      out_.dst.sel = sdwa_sel(high + low);
      out_.dst_preserve = true;
      for (Operand& source : out_.src) source.sel = Sel::kDword;
      return;
    }
    default: break;
  }
  if (!writes_half(out_.op)) return;
  if (true16.vsrc1_high) out_.src[out_.op == Op::v_fmamk_f16 ? 2 : 1].sel = Sel::kWord1;
  const bool raw_high = info_.encoding == Encoding::kVop3 && mc_.target().major >= 11 &&
                        ((encoded_.dword[0] >> 14) & 1) != 0;
  const bool high = out_.dst.sel == Sel::kWord1 || true16.dst_high || raw_high ||
                    (info_.encoding == Encoding::kVop3 && (src0 & kDstOpSel) != 0);
  if (high) {
    out_.dst.sel = Sel::kWord1;
    out_.dst_preserve = true;
  } else if (keeps_high_half(out_.op, mc_.target())) {
    out_.dst.sel = Sel::kWord0;
    out_.dst_preserve = true;
  }
}

void Lift::vopd_half(Inst& half, Op op, int dst, int first, int last, uint32_t field) {
  half.op = op;
  half.family = Family::kVopd;
  half.dst = operand_at(dst);
  int count = 0;
  for (int position = first; position < last && count < 4; ++position)
    half.src[count++] = source_at(position, field);
  if (op == Op::v_cndmask_b32) half.src[2] = mask_operand(slot::kVccLo);
  if (is_packed_accumulate(op))
    for (int source = 0; source < 3; ++source) half.src[source].op_sel_hi = true;
}

// Operands: vdstX, vdstY, the sources of X, the sources of Y. Only the first source of each half
// can be a constant, and both share one literal.
bool Lift::vopd(Inst& out_y) {
  const int first_y = info_.position(Name::src0y);
  if (info_.op_y == Op::kInvalid || first_y < 0) return false;
  vopd_half(out_, info_.op, 0, 2, first_y, encoded_.dword[0] & 0x1ff);
  vopd_half(out_y, info_.op_y, 1, first_y, static_cast<int>(mi_.getNumOperands()),
            encoded_.dword[1] & 0x1ff);
  out_.vopd_first = true;
  out_y.size_bytes = 0;
  out_y.implied_reads = out_.implied_reads;
  return true;
}

}  // namespace wavetap::isa
