// decode(), FunctionDecoder and disassemble() on LLVM's MC layer.
//
// A sweep over the bytes, one LLVM decode per instruction, each lifted to an Inst; branch targets
// are resolved at the end, when every instruction has its index. What LLVM refuses is tried once
// more in the forms that hardware accepts and LLVM 19 does not:
//   * gfx10+ v_cmpx in VOP3: the destination byte has no meaning, LLVM wants it to be EXEC (0x7e).
//     ROCr's built-in copy kernels hold 0;
//   * gfx11 16-bit VOP1 and VOP2: a destination of 128 and above is the high half of v0 and above;
//   * gfx11 operations on halves that only newer compilers emit (kStandIns).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "isa/half_result.h"
#include "isa/lift.h"
#include "isa/mc.h"
#include "isa/program.h"

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {
namespace {

constexpr size_t kMaxInstBytes = 20;

// An operation that LLVM does not decode, or not with halves, in the clothes of one that has the same
// operands and that LLVM knows.
struct StandIn {
  uint32_t mask;      // of the first dword: encoding and opcode
  uint32_t encoding;  // what the operation has there
  uint32_t other;     // what its stand-in has there
  Op op;
  std::string_view mnemonic;
};
constexpr StandIn kStandIns[] = {
    {0xffff0000, 0xd59c0000, 0xd5e90000, Op::v_mov_b16, "v_mov_b16_e64"},      // v_not_b16_e64
    {0xfe000000, 0x76000000, 0x64000000, Op::v_ldexp_f16, "v_ldexp_f16_e32"},  // v_add_f16_e32
    // v_swap_b16 is v_swap_b32 with a half of each register.
    {0xfe01fe00, 0x7e00cc00, 0x7e003800, Op::v_swap_b32, "v_swap_b16"},  // v_mov_b16_e32
};

struct Decoded {
  llvm::MCInst mi;
  Encoded encoded;
  TrueSixteen true16;
  const StandIn* stand_in = nullptr;  // `mi` is that of another operation
};

Encoded encoded_bytes(std::span<const std::byte> code, unsigned size_bytes) {
  Encoded encoded;
  encoded.size_bytes = size_bytes;
  std::memcpy(encoded.dword, code.data(), std::min<size_t>(size_bytes, sizeof encoded.dword));
  return encoded;
}

// Decodes a copy of `code` whose first dword is `first`.
bool decode_as(Mc& mc, std::span<const std::byte> code, uint32_t first, Decoded& out) {
  std::byte bytes[kMaxInstBytes];
  std::memcpy(bytes, code.data(), code.size());
  std::memcpy(bytes, &first, sizeof first);
  unsigned size = 0;
  if (!mc.decode({bytes, code.size()}, out.mi, size)) return false;
  out.encoded = encoded_bytes(code, size);
  return true;
}

// A 16-bit VOP1 or VOP2 operation whose destination is the high half of a register.
bool decode_high_destination(Mc& mc, std::span<const std::byte> code, uint32_t first,
                             Decoded& out) {
  const bool is_vop1_or_vop2 = (first >> 31) == 0 && (first >> 25) != 0x3e;
  constexpr uint32_t kDstBit7 = 1u << 24;
  if (!is_vop1_or_vop2 || (first & kDstBit7) == 0 || !decode_as(mc, code, first & ~kDstBit7, out) ||
      !writes_half(mc.info(out.mi.getOpcode()).op))
    return false;
  out.true16.dst_high = true;
  return true;
}

// v_fmamk_f16 and v_fmaak_f16, whose second register LLVM takes from the low halves only.
bool decode_high_source(Mc& mc, std::span<const std::byte> code, uint32_t first, Decoded& out) {
  constexpr uint32_t kFmamkF16 = 0x37, kFmaakF16 = 0x38;  // VOP2
  constexpr uint32_t kVsrc1Bit7 = 1u << 16;
  const uint32_t operation = first >> 25;
  if ((operation != kFmamkF16 && operation != kFmaakF16) || (first & kVsrc1Bit7) == 0) return false;
  const uint32_t low = first & ~kVsrc1Bit7;
  if (!decode_as(mc, code, low, out) && !decode_high_destination(mc, code, low, out)) return false;
  out.true16.vsrc1_high = true;
  return true;
}

bool decode_stand_in(Mc& mc, std::span<const std::byte> code, uint32_t first, Decoded& out) {
  for (const StandIn& candidate : kStandIns) {
    if ((first & candidate.mask) != candidate.encoding) continue;
    const uint32_t other = (first & ~candidate.mask) | candidate.other;
    if (!decode_as(mc, code, other, out) && !decode_high_destination(mc, code, other, out))
      return false;
    out.stand_in = &candidate;
    return true;
  }
  return false;
}

// What a stand-in was decoded as becomes the operation itself.
bool unmask(const StandIn& stand_in, Inst& inst) {
  inst.op = stand_in.op;
  if (inst.op != Op::v_swap_b32) return true;
  if (!inst.src[0].is(OperandKind::kVgpr)) return false;
  const auto half = [](Sel sel) { return sel == Sel::kWord1 ? Sel::kWord1 : Sel::kWord0; };
  inst.dst.sel = half(inst.dst.sel);
  inst.dst2 = inst.src[0];
  inst.dst2.sel = half(inst.dst2.sel);
  inst.src[0] = inst.dst;
  inst.src[1] = inst.dst2;
  inst.dst_preserve = false;
  return true;
}

bool decode_one(Mc& mc, std::span<const std::byte> code, Decoded& out) {
  code = code.first(std::min(code.size(), kMaxInstBytes));
  if (code.size() < 4) return false;
  unsigned size = 0;
  if (mc.decode(code, out.mi, size)) {
    out.encoded = encoded_bytes(code, size);
    return true;
  }
  uint32_t first = 0;
  std::memcpy(&first, code.data(), sizeof first);
  const int major = mc.target().major;
  const bool is_vop3 = (first >> 26) == 0x35;
  if (major >= 10 && is_vop3 && decode_as(mc, code, (first & ~0xffu) | 0x7e, out) &&
      std::string_view(op_name(mc.info(out.mi.getOpcode()).op)).starts_with("v_cmpx"))
    return true;
  return major >= 11 &&
         (decode_high_destination(mc, code, first, out) ||
          decode_high_source(mc, code, first, out) || decode_stand_in(mc, code, first, out));
}

void resolve_targets(Program& program) {
  std::vector<Inst>& insts = program.mutable_insts();
  for (size_t i = 0; i < insts.size(); ++i) {
    if (!is_relative_jump(insts[i].op)) continue;
    const int64_t distance = 4 + int64_t{insts[i].imm16} * 4;
    const GpuAddr to = program.pc_of(static_cast<int32_t>(i)) + static_cast<uint64_t>(distance);
    insts[i].target = program.index_of(to);
  }
}

std::string trimmed(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

// gfx11: LLVM prints the high half of v1 as "v129" with a comment that complains, and knows nothing
// of a high destination. Shows both as v1.h. Other complaints are dropped.
void mark_high_halves(std::string& text, TrueSixteen true16) {
  for (size_t begin = text.find("/*"); begin != std::string::npos; begin = text.find("/*")) {
    const size_t end = text.find("*/", begin);
    if (end == std::string::npos) return;
    const bool is_half = text.substr(begin, end - begin).find("Lo128") != std::string::npos;
    text.erase(begin, end + 2 - begin);
    const size_t digits = text.find_last_not_of("0123456789", begin - 1) + 1;
    if (is_half && digits < begin && digits > 0 && text[digits - 1] == 'v')
      text.replace(digits, begin - digits,
                   std::to_string(std::atoi(text.c_str() + digits) - 128) + ".h");
  }
  if (true16.vsrc1_high)  // the last operand of v_fmamk, the last but one of v_fmaak
    text.insert(text.starts_with("v_fmamk") ? text.size() : text.rfind(','), ".h");
  if (!true16.dst_high) return;
  if (const size_t comma = text.find(','); comma != std::string::npos) text.insert(comma, ".h");
}

// gfx11: LLVM leaves op_sel out where it models registers of 16-bit VOP3 operations as whole.
void append_half_selects(std::string& text, const Encoded& encoded) {
  const uint32_t selects = encoded.dword[0] >> 11 & 0xf;
  const bool is_vop3 = (encoded.dword[0] >> 26) == 0x35;
  if (!is_vop3 || selects == 0 || text.find("op_sel") != std::string::npos) return;
  const auto sources = static_cast<size_t>(std::count(text.begin(), text.end(), ','));
  text += " op_sel:[";
  for (size_t i = 0; i < sources && i < 3; ++i) text += (selects >> i & 1) != 0 ? "1," : "0,";
  text += (selects & 8) != 0 ? "1]" : "0]";
}

// LLVM prints the distance of a branch as an unsigned number; shows it signed, with the address.
void append_target(std::string& text, int16_t distance, GpuAddr pc) {
  char number[16];
  std::snprintf(number, sizeof number, "%u",
                static_cast<unsigned>(static_cast<uint16_t>(distance)));
  if (const size_t at = text.rfind(number); at != std::string::npos)
    text.replace(at, std::strlen(number), std::to_string(distance));
  char note[40];
  const uint64_t to = pc.value + 4 + static_cast<uint64_t>(int64_t{distance} * 4);
  std::snprintf(note, sizeof note, "  ; 0x%llx", static_cast<unsigned long long>(to));
  text += note;
}

// Decodes the instruction at `offset` of `code` and appends it; a VOPD pair becomes two. Returns
// its size.
size_t append_instruction(Mc* mc, std::span<const std::byte> code, size_t offset, Decoded& decoded,
                          Program& program) {
  const std::span<const std::byte> rest = code.subspan(offset);
  decoded.true16 = {};
  decoded.stand_in = nullptr;
  Inst inst;
  Inst second;
  bool ok = mc != nullptr && decode_one(*mc, rest, decoded);
  if (ok) {
    const OpcodeInfo& info = mc->info(decoded.mi.getOpcode());
    ok = Lift(*mc, decoded.mi, info, decoded.encoded, inst).run(decoded.true16, second);
    if (ok && decoded.stand_in != nullptr) ok = unmask(*decoded.stand_in, inst);
  }
  if (!ok) {
    inst = Inst();
    inst.size_bytes = static_cast<uint8_t>(std::min<size_t>(rest.size(), 4));
  }
  program.mutable_insts().push_back(inst);
  program.mutable_offsets().push_back(static_cast<uint32_t>(offset));
  if (inst.vopd_first) {
    program.mutable_insts().push_back(second);
    program.mutable_offsets().push_back(static_cast<uint32_t>(offset));
  }
  return inst.size_bytes;
}

// Nothing runs on behind these.
bool ends_flow(Op op) {
  switch (op) {
    case Op::kInvalid:
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done:
    case Op::s_setpc_b64:
    case Op::s_branch:
    case Op::s_branch_pad_s_nop:
    case Op::s_code_end: return true;
    default: return false;
  }
}

}  // namespace

Program decode(std::span<const std::byte> code, GpuAddr begin, amd::GfxTarget target, bool wave64) {
  Program program(begin, code.size(), target, wave64 || !target.has_wave32());
  program.mutable_insts().reserve(code.size() / 6 + 1);
  program.mutable_offsets().reserve(code.size() / 6 + 1);
  const McLease mc(target, wave64);
  Decoded decoded;
  for (size_t offset = 0; offset < code.size();)
    offset += append_instruction(mc.get(), code, offset, decoded, program);
  resolve_targets(program);
  return program;
}

FunctionDecoder::FunctionDecoder(GpuAddr begin, amd::GfxTarget target, bool wave64)
    : program_(begin, 0, target, wave64 || !target.has_wave32()) {}

bool FunctionDecoder::advance(std::span<const std::byte> code, bool is_all) {
  const McLease mc(program_.target(), program_.wave64());
  Decoded decoded;
  while (offset_ < code.size()) {
    // Nearer than this to the end of the bytes, an instruction may have been cut in two.
    if (!is_all && code.size() - offset_ < kMaxInstBytes) return false;
    const auto index = static_cast<size_t>(program_.size());
    const auto here = static_cast<int64_t>(offset_);
    offset_ += append_instruction(mc.get(), code, offset_, decoded, program_);
    const Inst& inst = program_.insts()[index];
    // A call comes back; a jump of the function itself moves its end.
    if (is_relative_jump(inst.op) && inst.op != Op::s_call_b64)
      reached_ = std::max(reached_, here + 4 + int64_t{inst.imm16} * 4);
    if (ends_flow(inst.op) && static_cast<int64_t>(offset_) > reached_) return true;
  }
  return is_all;
}

Program FunctionDecoder::take() {
  program_.set_size_bytes(offset_);
  program_.mutable_insts().shrink_to_fit();
  program_.mutable_offsets().shrink_to_fit();
  resolve_targets(program_);
  return std::move(program_);
}

std::string disassemble(std::span<const std::byte> code, amd::GfxTarget target, bool wave64,
                        GpuAddr pc) {
  const McLease lease(target, wave64);
  if (Mc* const mc = lease.get()) {
    Decoded decoded;
    if (decode_one(*mc, code, decoded)) {
      std::string text = trimmed(mc->print(decoded.mi, pc.value));
      mark_high_halves(text, decoded.true16);
      if (decoded.stand_in != nullptr) text.replace(0, text.find(' '), decoded.stand_in->mnemonic);
      const Op op = mc->info(decoded.mi.getOpcode()).op;
      if (target.major >= 11 && std::string_view(op_name(op)).find("16") != std::string_view::npos)
        append_half_selects(text, decoded.encoded);
      if (is_relative_jump(op))
        append_target(text, static_cast<int16_t>(decoded.encoded.dword[0]), pc);
      return text;
    }
  }
  uint32_t word = 0;
  std::memcpy(&word, code.data(), std::min(code.size(), sizeof word));
  char text[40];
  std::snprintf(text, sizeof text, "<undecodable 0x%08x>", word);
  return text;
}

}  // namespace wavetap::isa
