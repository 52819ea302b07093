// Inst: one decoded AMDGPU instruction, fully resolved. The decoder (LLVM's MC layer, decoder.cc)
// makes it once per static instruction; the engine (emu/) reads nothing else at run time.
//
// What is resolved here, so that no consumer has to know a target's encoding:
//   * op is canonical: gfx9's v_add_u32, gfx10's v_add_nc_u32 and gfx11's are all Op::v_add_u32;
//     gfx11's global_load_b32 is Op::global_load_dword. ops.inc lists every canonical operation;
//     aliases.inc maps each target's spelling to it.
//   * scalar operands are slots of one scalar file (below) whatever the target numbers them.
//   * immediates hold the bits of the value at the operand's width: inline constants and literals
//     are expanded (an f64 literal is its high half, an f16 inline 1.0 is 0x3c00).
//   * branch targets are instruction indices of the enclosing Program.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavetap::isa {

enum class Op : uint16_t {
  kInvalid = 0,
#define WT_OP(name) name,
#include "isa/ops.inc"
#undef WT_OP
  kCount
};

// The scalar register file as the engine keeps it. Slots 0..127 follow the hardware numbering of
// gfx9 and gfx10.3; the decoder renumbers targets that differ (gfx11 swaps m0 and null).
namespace slot {
inline constexpr uint16_t kVccLo = 106;
inline constexpr uint16_t kVccHi = 107;
inline constexpr uint16_t kTtmp0 = 108;  // ttmp0..ttmp15
inline constexpr uint16_t kM0 = 124;
inline constexpr uint16_t kNull = 125;  // reads 0; a write is dropped
inline constexpr uint16_t kExecLo = 126;
inline constexpr uint16_t kExecHi = 127;
inline constexpr uint16_t kFlatScratchLo = 128;  // gfx9's s102/s103 alias is mapped here too
inline constexpr uint16_t kFlatScratchHi = 129;
inline constexpr uint16_t kXnackMaskLo = 130;
inline constexpr uint16_t kXnackMaskHi = 131;
inline constexpr uint16_t kSharedBase = 132;  // 64 bits: slots 132, 133
inline constexpr uint16_t kSharedLimit = 134;
inline constexpr uint16_t kPrivateBase = 136;
inline constexpr uint16_t kPrivateLimit = 138;
inline constexpr uint16_t kPopsExitingWaveId = 140;
inline constexpr uint16_t kScc = 142;  // as a source operand
inline constexpr uint16_t kVccz = 143;
inline constexpr uint16_t kExecz = 144;
inline constexpr uint16_t kLdsDirect = 146;
inline constexpr uint16_t kCount = 148;
}  // namespace slot

enum class OperandKind : uint8_t { kNone, kScalar, kVgpr, kAgpr, kImm };

// SDWA selects; also used for op_sel of 16-bit operands, where the decoder turns a set bit into
// kWord1.
enum class Sel : uint8_t { kDword, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };

struct Operand {
  OperandKind kind = OperandKind::kNone;
  uint8_t dwords = 0;     // registers read or written; 1 for anything up to 32 bits
  uint16_t index = 0;     // slot, VGPR or AGPR number
  Sel sel = Sel::kDword;  // part of the register that is read or written
  bool neg = false;       // packed math: negates the low half
  bool abs = false;       // packed math: neg_hi, negates the high half
  bool sext = false;      // SDWA: sign-extend the selected part
  // Packed (VOP3P) operands: which half feeds the low and the high result.
  bool op_sel = false;
  bool op_sel_hi = false;
  uint64_t imm = 0;

  bool is(OperandKind k) const { return kind == k; }
};

// The family an instruction belongs to; decides which exec_*.cc implements it and its counter
// class.
enum class Family : uint8_t {
  kInvalid,
  kSop,   // SOP1, SOP2, SOPK, SOPC
  kSopp,  // branches, waits, messages, barriers
  kSmem,
  kVop,  // VOP1, VOP2, VOP3 (a, b), VOP3P without matrix instructions
  kVopc,
  kMatrix,  // MFMA, WMMA, accvgpr moves excepted
  kVopd,
  kDs,
  kFlat,   // flat_*, global_*, scratch_*
  kMubuf,  // buffer_*, tbuffer_*
  kImage,  // image_*
  kExport,
};

// What an image instruction does and which addresses it takes, as bits of Inst::image. The addresses
// stand in the registers in this order; kGradients are two sets, one per direction.
namespace image {
inline constexpr uint16_t kOffset = 1;     // texel offsets, packed into one dword
inline constexpr uint16_t kBias = 2;       // added to the level of detail
inline constexpr uint16_t kCompare = 4;    // depth comparison, with this reference
inline constexpr uint16_t kGradients = 8;  // derivatives, from which the level of detail follows
inline constexpr uint16_t kHalfGradients = 16;  // … of 16 bits each
inline constexpr uint16_t kLevel = 32;  // level of detail, or mip level, behind the coordinates
inline constexpr uint16_t kLevelClamp = 64;  // lower limit of the level, likewise
inline constexpr uint16_t kLevelZero = 128;
inline constexpr uint16_t kSamples = 256;         // has a sampler
inline constexpr uint16_t kGathers = 512;         // four texels of one component
inline constexpr uint16_t kNoCoordinates = 1024;  // a mip level only
}  // namespace image

// SQ_RSRC_IMG_* as gfx10 and later encode it; gfx9 learns it from the image resource.
enum class ImageDim : uint8_t {
  k1D,
  k2D,
  k3D,
  kCube,
  k1DArray,
  k2DArray,
  k2DMsaa,
  k2DMsaaArray,
  kFromResource,
};

enum class Dpp : uint8_t { kNone, kDpp16, kDpp8 };

// Registers that an operation reads or writes without naming them. VCC as an operand of the short
// encodings is not among them: it stands in src or dst.
namespace implied {
inline constexpr uint8_t kScc = 1;
inline constexpr uint8_t kVcc = 2;
inline constexpr uint8_t kExec = 4;
inline constexpr uint8_t kM0 = 8;
inline constexpr uint8_t kFlatScratch = 16;
}  // namespace implied

// Where operands are, by family. src[] follows the assembler text without address operands; what
// the text leaves out but the operation reads is appended.
//
//   SOP1 SOP2 SOPC  dst, src[0..1]. s_cmp: no dst (SCC). s_setpc: src[0]. s_fmac: src[2] is dst.
//   SOPK            s_movk, s_cmovk: dst. s_addk, s_mulk: dst and src[0], the same register. s_cmpk,
//                   s_setreg, s_waitcnt_*cnt: src[0]. s_setreg_imm32: src[0] the literal. s_call: dst.
//                   imm16: the constant, or hwreg id:6 | offset:5 << 6 | (width - 1):5 << 11.
//   SMEM            loads: dst; stores: src[0]; atomics: src[0] and, when returning, dst. saddr the base,
//                   soffset an SGPR or kNone; address = saddr + soffset + offset.
//   VOP             dst, src[0..2]. v_mac, v_fmac, v_dot2c…: src[2] is dst. v_madak: src[2] is K,
//                   v_madmk: src[1] is K. v_add_co and friends: dst2 the carry out; v_addc, v_subb,
//                   v_cndmask: src[2] the mask in (VCC in the short encodings). v_div_scale, v_mad_u64_u32:
//                   dst2. v_div_fmas: src[3] is VCC. v_readlane, v_readfirstlane: dst is scalar.
//                   v_writelane: src[0] the value, src[1] the lane. v_swap: dst = src[0], dst2 = src[1];
//                   v_swap_b16 is v_swap_b32 whose operands have sel kWord0 or kWord1.
//                   v_permlane16: op_sel is in fetch_inactive and bound_ctrl.
//                   16-bit result: dst.sel is kWord1 for the high half, kWord0 with dst_preserve when the
//                   target keeps the high half, kDword when it clears it.
//                   16-bit source: sel kWord1 for the high half, else the low half is meant.
//   packed, mixed   src[].op_sel, op_sel_hi; neg is neg_lo, abs is neg_hi (v_*_mix: abs). Constants are
//                   the 32 bits (packed f32: 64) that halves are chosen from; constants.h has the rule.
//                   Mixed: op_sel_hi false means the source is an f32. v_pk_fmac, v_dot2c…: src[2] is
//                   dst; their short encoding has op_sel 0 and op_sel_hi 1.
//   VOPC            dst the mask (VCC in the short encoding), src[0..1]. v_cmpx: EXEC as well on gfx9; on
//                   gfx10+ dst is kNone and only EXEC is written.
//   matrix          src[0] A, src[1] B, src[2] C; v_smfmac: src[2] the index, src[3] C, which is dst.
//                   f64 on gfx940: neg of each source. v_wmma with 16-bit C: src[2].op_sel is the half;
//                   integer v_wmma, v_dot: neg means signed.
//   DS              vaddr the address; src[0], src[1] data0, data1 (ds_cmpst: compare, new; ds_cmpstore:
//                   new, compare); dst what is returned.
//   FLAT            vaddr 64 bits, or 32 bits beside saddr; src[0] the data (cmpswap: new value, then the
//                   compare value, in one tuple); dst what a load or a returning atomic writes.
//   MUBUF           vaddr: index, then offset when both; saddr the descriptor; src[0] and dst as FLAT.
//   image           vaddr the first address; the others follow it in one tuple, or are in nsa[]. saddr the
//                   image resource, soffset the sampler; src[0] and dst as FLAT.
//   lds             global_load … lds, buffer_load … lds: no dst; the data goes to LDS at M0.
struct Inst {
  Op op = Op::kInvalid;
  Family family = Family::kInvalid;
  uint8_t size_bytes = 0;
  uint8_t implied_reads = 0;  // of implied::
  uint8_t implied_writes = 0;

  Operand dst;     // vdst or sdst; for stores and returnless atomics kNone
  Operand dst2;    // the second result: sdst of VOP3b, VOPC in VOP3, v_swap's second register
  Operand src[4];  // in the order of the assembler text, without address operands

  // --- Modifiers of vector operations.
  bool clamp = false;
  uint8_t omod = 0;  // 0 none, 1 *2, 2 *4, 3 /2
  bool sdwa = false;
  // SDWA dst_unused=UNUSED_PRESERVE, and op_sel on a 16-bit destination: bits outside dst.sel keep
  // their value (false: zero).
  bool dst_preserve = false;
  bool dst_sext = false;  // SDWA dst_unused=UNUSED_SEXT
  Dpp dpp = Dpp::kNone;   // applies to src[0]
  uint16_t dpp_ctrl = 0;  // DPP16 control, 9 bits; quad_perm, row_shl:n … as encoded
  uint32_t dpp8 = 0;      // 8 selectors of 3 bits
  uint8_t row_mask = 0xf;
  uint8_t bank_mask = 0xf;
  bool bound_ctrl = false;  // out-of-range lanes read 0 instead of being disabled
  bool fetch_inactive = false;
  uint8_t cbsz = 0, abid = 0, blgp = 0;  // MFMA broadcast fields

  // --- Memory. address = vaddr + saddr + offset as the family defines it.
  Operand vaddr;        // VGPR address or offset, kNone when "off"
  Operand saddr;        // SGPR base (global, scratch), SBASE (smem), SRSRC (mubuf: 4 dwords)
  Operand soffset;      // mubuf, smem
  int32_t offset = 0;   // immediate; ds: offset0
  int32_t offset1 = 0;  // ds_read2 and friends
  bool glc = false, slc = false, dlc = false;  // gfx940: sc0, nt, sc1
  bool lds = false, gds = false;
  bool offen = false, idxen = false, addr64 = false;
  bool tfe = false;    // mubuf: dst has one more dword, the fault status
  uint8_t format = 0;  // tbuffer: dfmt | nfmt << 4 on gfx9, the unified format on gfx10+
  bool scale_offset = false;

  // --- Images. tfe as above.
  uint16_t image = 0;  // of image::
  ImageDim dim = ImageDim::k1D;
  uint8_t dmask = 0;      // components in the registers, bit 0 is x
  bool unorm = false;     // coordinates count texels, whatever the sampler says
  bool a16 = false;       // addresses of 16 bits, two to a register
  bool d16 = false;       // data of 16 bits, likewise
  bool r128 = false;      // the resource has four dwords
  bool is_array = false;  // gfx9: the last coordinate is a slice
  uint8_t nsa_count = 0;  // addresses in registers of their own, behind vaddr
  uint8_t nsa[12] = {};

  // --- Control.
  // SOPK/SOPP immediate: sign-extended for SOPK and branches, raw otherwise.
  int32_t imm16 = 0;
  int32_t target = -1;  // branch target as an index into the Program, -1 when outside it
  // VOPD: this Inst is the X half, the next Inst in the Program is the Y half (size_bytes 0); both
  // read before either writes.
  bool vopd_first = false;
};

const char* op_name(Op op);
// Whether the operation jumps, or may jump, by imm16 dwords from the next instruction: `target` is
// where. True for s_call_b64, which comes back.
bool is_relative_jump(Op op);
// The operation a mnemonic names: canonical or alias, with or without _e32, _e64, _dpp or _sdwa.
// kInvalid when there is none.
Op find_op(std::string_view spelling);

}  // namespace wavetap::isa
