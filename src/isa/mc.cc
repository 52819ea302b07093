// The only place that creates LLVM objects. LLVM is linked statically and its symbols stay hidden,
// so that this copy lives beside the libLLVM that AMD's code-object manager brings into the same
// process.

#include "isa/mc.h"

#include <cstring>
#include <mutex>
#include <string_view>

#include "isa/constants.h"
#include "isa/registers.h"

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

// Declared in LLVM's private AMDGPUBaseInfo.h.
namespace llvm::AMDGPU {
int16_t getNamedOperandIdx(uint16_t opcode, uint16_t name);
}

namespace wavetap::isa {
namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";
constexpr int kMaxNameNumber = 256;

// Bits of MCInstrDesc::TSFlags (LLVM's SIInstrFlags).
namespace flag {
constexpr uint64_t kSop1 = uint64_t{1} << 2;
constexpr uint64_t kSop2 = uint64_t{1} << 3;
constexpr uint64_t kSopc = uint64_t{1} << 4;
constexpr uint64_t kSopk = uint64_t{1} << 5;
constexpr uint64_t kSopp = uint64_t{1} << 6;
constexpr uint64_t kVop1 = uint64_t{1} << 7;
constexpr uint64_t kVop2 = uint64_t{1} << 8;
constexpr uint64_t kVopc = uint64_t{1} << 9;
constexpr uint64_t kVop3 = uint64_t{1} << 10;
constexpr uint64_t kVop3p = uint64_t{1} << 12;
constexpr uint64_t kVintrp = uint64_t{1} << 13;
constexpr uint64_t kSdwa = uint64_t{1} << 14;
constexpr uint64_t kDpp = uint64_t{1} << 15;
constexpr uint64_t kMubuf = uint64_t{1} << 17;
constexpr uint64_t kMtbuf = uint64_t{1} << 18;
constexpr uint64_t kSmrd = uint64_t{1} << 19;
constexpr uint64_t kFlat = uint64_t{1} << 24;
constexpr uint64_t kDs = uint64_t{1} << 25;
constexpr uint64_t kAtomicReturn = uint64_t{1} << 58;
}  // namespace flag

// What all targets share.
struct Shared {
  const llvm::Target* target = nullptr;
  llvm::MCInstrInfo* instructions = nullptr;
  llvm::MCRegisterInfo* registers = nullptr;
  llvm::MCAsmInfo* assembly = nullptr;
  std::array<int16_t, kNameCount> names{};
  bool ok = false;
};

struct NameProbe {
  const char* opcode;
  uint8_t position;
};

constexpr NameProbe kProbes[] = {
#define WT_OPERAND_NAME(name, opcode, position) {opcode, position},
#include "isa/names.inc"
#undef WT_OPERAND_NAME
};
static_assert(std::size(kProbes) == kNameCount);

// LLVM numbers opcodes by name, first those of its own, then pseudo instructions, then real ones.
// The number of the first real one, or 0. A scan of all names (40 000) would be a good part of the
// first kernel's time.
unsigned first_real_opcode(const llvm::MCInstrInfo& opcodes) {
  constexpr unsigned kStep = 512;  // past LLVM's own
  for (unsigned at = kStep; at + kStep < opcodes.getNumOpcodes(); at += kStep) {
    if (opcodes.getName(at) < opcodes.getName(at + kStep)) continue;
    unsigned pseudo = at, real = at + kStep;
    while (real - pseudo > 1) {
      const unsigned middle = (pseudo + real) / 2;
      (opcodes.getName(middle) < opcodes.getName(pseudo) ? real : pseudo) = middle;
    }
    return real;
  }
  return 0;
}

// The opcode of that name among [begin, end), which ascend by name; -1 when there is none.
int find_opcode(const llvm::MCInstrInfo& opcodes, unsigned begin, unsigned end,
                llvm::StringRef name) {
  while (begin < end) {
    const unsigned middle = (begin + end) / 2;
    const int order = opcodes.getName(middle).compare(name);
    if (order == 0) return static_cast<int>(middle);
    if (order < 0) begin = middle + 1;
    else end = middle;
  }
  return -1;
}

// The operand-name numbers of this LLVM. Rows of LLVM's table lie back to back, so a number past
// the last name reads the next row: the smallest number that answers is the right one.
bool resolve_names(Shared& shared) {
  const llvm::MCInstrInfo& opcodes = *shared.instructions;
  const unsigned real = first_real_opcode(opcodes);
  bool all = true;
  for (size_t i = 0; i < kNameCount; ++i) {
    shared.names[i] = -1;
    const int opcode = find_opcode(opcodes, real, opcodes.getNumOpcodes(), kProbes[i].opcode);
    for (int number = 0; opcode >= 0 && number < kMaxNameNumber; ++number) {
      if (llvm::AMDGPU::getNamedOperandIdx(static_cast<uint16_t>(opcode),
                                           static_cast<uint16_t>(number)) != kProbes[i].position)
        continue;
      shared.names[i] = static_cast<int16_t>(number);
      break;
    }
    all = all && shared.names[i] >= 0;
  }
  return all;
}

Shared* make_shared_state() {
  auto* shared = new Shared;
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  std::string error;
  shared->target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (shared->target == nullptr) return shared;
  shared->instructions = shared->target->createMCInstrInfo();
  shared->registers = shared->target->createMCRegInfo(kTriple);
  shared->assembly =
      shared->target->createMCAsmInfo(*shared->registers, kTriple, llvm::MCTargetOptions());
  shared->ok = resolve_names(*shared);
  return shared;
}

// Never freed, like everything here: LLVM objects must outlive every thread of the host.
Shared& shared_state() {
  static Shared* const shared = make_shared_state();
  return *shared;
}

Encoding encoding_of(uint64_t flags, std::string_view name) {
  if (name.starts_with("V_DUAL_")) return Encoding::kVopd;
  if (flags & flag::kSop1) return Encoding::kSop1;
  if (flags & flag::kSop2) return Encoding::kSop2;
  if (flags & flag::kSopc) return Encoding::kSopc;
  if (flags & flag::kSopk) return Encoding::kSopk;
  if (flags & flag::kSopp) return Encoding::kSopp;
  if (flags & flag::kSmrd) return Encoding::kSmem;
  if (flags & flag::kVop3p) return Encoding::kVop3p;
  if (flags & flag::kVop3) return Encoding::kVop3;
  if (flags & flag::kVop1) return Encoding::kVop1;
  if (flags & flag::kVop2) return Encoding::kVop2;
  if (flags & flag::kVopc) return Encoding::kVopc;
  if (flags & flag::kVintrp) return Encoding::kVinterp;
  if (flags & (flag::kSdwa | flag::kDpp)) return Encoding::kVop2;
  if (flags & flag::kDs) return Encoding::kDs;
  if (flags & flag::kFlat) return Encoding::kFlat;
  if (flags & flag::kMubuf) return Encoding::kMubuf;
  if (flags & flag::kMtbuf) return Encoding::kMtbuf;
  if (name.starts_with("IMAGE_")) return Encoding::kMimg;
  return Encoding::kOther;
}

Family family_of(Encoding encoding, std::string_view op) {
  switch (encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopk:
    case Encoding::kSopc: return Family::kSop;
    case Encoding::kSopp: return Family::kSopp;
    case Encoding::kSmem: return Family::kSmem;
    case Encoding::kVopd: return Family::kVopd;
    case Encoding::kDs: return Family::kDs;
    case Encoding::kFlat: return Family::kFlat;
    case Encoding::kMubuf:
    case Encoding::kMtbuf: return Family::kMubuf;
    default: break;
  }
  if (op.starts_with("v_cmp")) return Family::kVopc;
  if (op.starts_with("v_mfma") || op.starts_with("v_smfmac") || op.starts_with("v_wmma"))
    return Family::kMatrix;
  if (op.starts_with("v_")) return Family::kVop;
  if (op.starts_with("exp")) return Family::kExport;
  return Family::kImage;
}

// The kinds of register in an LLVM register class, as bits by OperandKind; 0 for a class that is
// none of ours (16-bit halves).
uint8_t allowed_kinds(std::string_view class_name) {
  constexpr auto bit = [](OperandKind kind) {
    return static_cast<uint8_t>(1 << static_cast<int>(kind));
  };
  constexpr uint8_t kScalarBit = bit(OperandKind::kScalar);
  constexpr uint8_t kVgprBit = bit(OperandKind::kVgpr);
  constexpr uint8_t kAgprBit = bit(OperandKind::kAgpr);
  struct Class {
    std::string_view prefix;
    uint8_t kinds;
  };
  // VRegOrLds and SRegOrLds hold LDS_DIRECT, a scalar slot.
  constexpr Class kClasses[] = {
      {"VRegOrLds", kVgprBit | kScalarBit},
      {"SRegOrLds", kScalarBit},
      {"VReg_", kVgprBit},
      {"VGPR_32", kVgprBit},
      {"AReg_", kAgprBit},
      {"AGPR_32", kAgprBit},
      {"AV_", kVgprBit | kAgprBit},
      {"VS_", kVgprBit | kScalarBit},
      {"SReg_", kScalarBit},
      {"SGPR_", kScalarBit},
  };
  for (const Class& known : kClasses)
    if (class_name.starts_with(known.prefix)) return known.kinds;
  return 0;
}

// LLVM's lists of implicit registers as bits of implied::.
uint8_t implied_registers(llvm::ArrayRef<llvm::MCPhysReg> registers, Op op, Family family) {
  const llvm::MCRegisterInfo& info = *shared_state().registers;
  uint8_t bits = 0;
  for (const llvm::MCPhysReg reg : registers) {
    const std::string_view name = info.getName(reg);
    if (name == "SCC") bits |= implied::kScc;
    if (name.starts_with("VCC")) bits |= implied::kVcc;
    if (name.starts_with("EXEC")) bits |= implied::kExec;
    if (name == "M0") bits |= implied::kM0;
    if (name.starts_with("FLAT_SCR")) bits |= implied::kFlatScratch;
  }
  // From gfx9 on the address limit that M0 once held is not looked at.
  const std::string_view name = op_name(op);
  if (family == Family::kDs && !name.ends_with("addtid_b32") && !name.starts_with("ds_gws") &&
      op != Op::ds_append && op != Op::ds_consume)
    bits &= static_cast<uint8_t>(~implied::kM0);
  // An operand of the instruction.
  if (family == Family::kVop || family == Family::kVopc || family == Family::kVopd)
    bits &= static_cast<uint8_t>(~implied::kVcc);
  return bits;
}

// What LLVM's lists have too much or too little.
void correct_implied(OpcodeInfo& info) {
  switch (info.op) {
    case Op::s_setvskip: info.implied_writes = 0; break;
    case Op::s_quadmask_b32:
    case Op::s_quadmask_b64: info.implied_writes |= implied::kScc; break;
    case Op::v_movrelsd_2_b32:
    case Op::v_swaprel_b32: info.implied_reads |= implied::kExec; break;
    default: break;
  }
}

// What LLVM tells only in an opcode's name.
void note_memory_form(OpcodeInfo& info, std::string_view name) {
  if (info.encoding != Encoding::kFlat && info.encoding != Encoding::kMubuf &&
      info.encoding != Encoding::kMtbuf)
    return;
  const auto contains = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  info.flat_segment = name.starts_with("FLAT_");
  info.lds = contains("_LDS_");
  info.addr64 = contains("_ADDR64");
  info.offen = contains("_OFFEN") || contains("_BOTHEN");
  info.idxen = contains("_IDXEN") || contains("_BOTHEN");
  info.tfe = contains("_TFE_");
}

// "ADD_F32_e32" -> v_add_f32.
Op vopd_half(std::string_view llvm_name) {
  std::string spelling = "v_";
  for (const char c : llvm_name) spelling += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return find_op(spelling);
}

}  // namespace

Mc::Mc(amd::GfxTarget target, bool wave64) : target_(target), wave64_(wave64) {
  Shared& shared = shared_state();
  const std::string cpu = amd::to_string(target);
  const char* features = "";
  if (target.has_wave32())
    features = wave64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64";
  subtarget_ = shared.target->createMCSubtargetInfo(kTriple, cpu, features);
  context_ =
      new llvm::MCContext(llvm::Triple(kTriple), shared.assembly, shared.registers, subtarget_);
  disassembler_ = shared.target->createMCDisassembler(*subtarget_, *context_);
  printer_ = shared.target->createMCInstPrinter(llvm::Triple(kTriple), 0, *shared.assembly,
                                                *shared.instructions, *shared.registers);
  infos_.resize(shared.instructions->getNumOpcodes());
  registers_.resize(shared.registers->getNumRegs());
}

namespace {

// Instances that nobody uses now. Never freed, as a thread of the host may decode while the process
// exits.
struct IdleMcs {
  std::mutex mutex;
  std::vector<Mc*> idle;
};

IdleMcs& idle_mcs() {
  static IdleMcs* const mcs = new IdleMcs;
  return *mcs;
}

bool is_known(amd::GfxTarget target) {
  const Shared& shared = shared_state();
  if (!shared.ok || target.major < 9 || target.major > 11) return false;
  // createMCSubtargetInfo() prints a warning for a processor it does not know; ask a neutral one
  // first.
  const std::unique_ptr<llvm::MCSubtargetInfo> neutral(
      shared.target->createMCSubtargetInfo(kTriple, "", ""));
  return neutral->isCPUStringValid(amd::to_string(target));
}

}  // namespace

McLease::McLease(amd::GfxTarget target, bool wave64) {
  if (!target.has_wave32()) wave64 = true;
  IdleMcs& mcs = idle_mcs();
  {
    const std::lock_guard lock(mcs.mutex);
    for (Mc*& idle : mcs.idle) {
      if (idle->target() != target || idle->wave64() != wave64) continue;
      mc_ = idle;
      idle = mcs.idle.back();
      mcs.idle.pop_back();
      return;
    }
  }
  if (is_known(target)) mc_ = new Mc(target, wave64);
}

McLease::~McLease() {
  if (mc_ == nullptr) return;
  IdleMcs& mcs = idle_mcs();
  const std::lock_guard lock(mcs.mutex);
  mcs.idle.push_back(mc_);
}

bool Mc::decode(std::span<const std::byte> code, llvm::MCInst& inst, unsigned& size_bytes) {
  uint64_t size = 0;
  const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(code.data()), code.size());
  inst.clear();
  inst.setOpcode(0);
  inst.setFlags(0);
  if (disassembler_->getInstruction(inst, size, bytes, 0, llvm::nulls()) !=
      llvm::MCDisassembler::Success)
    return false;
  if (size == 0 || size > code.size()) return false;
  if (!operands_fit(inst)) return false;
  size_bytes = static_cast<unsigned>(size);
  return true;
}

// Reserved encodings can name, say, EXEC as a buffer descriptor or a VGPR as a lane number: LLVM
// lets them through with a comment in the text. Single registers that stand for any width (null,
// the flags) are fine.
bool Mc::operands_fit(const llvm::MCInst& inst) {
  const OpcodeInfo& expected = info(inst.getOpcode());
  for (unsigned i = 0; i < inst.getNumOperands(); ++i) {
    const llvm::MCOperand& operand = inst.getOperand(i);
    if (!operand.isReg() && !operand.isImm()) return false;
    if (i >= expected.register_kinds.size() || expected.register_kinds[i] == 0) continue;
    if (operand.isImm()) {
      if (static_cast<SourceType>(expected.operand_type[i]) == SourceType::kNone) return false;
      continue;
    }
    const Operand& found = reg(operand.getReg());
    if (found.is(OperandKind::kNone)) continue;
    if (((expected.register_kinds[i] >> static_cast<int>(found.kind)) & 1) == 0) return false;
    const bool any_width = found.is(OperandKind::kScalar) &&
                           (found.index == slot::kNull || found.index >= slot::kPopsExitingWaveId);
    if (!any_width && expected.register_dwords[i] != 0 &&
        found.dwords != expected.register_dwords[i])
      return false;
  }
  return sdwa_fits(inst);
}

// LLVM decodes reserved SDWA selects, and its printer then runs into code it holds for unreachable.
bool Mc::sdwa_fits(const llvm::MCInst& inst) {
  const OpcodeInfo& expected = info(inst.getOpcode());
  if (!expected.sdwa) return true;
  const auto at_most = [&](Name name, int64_t limit) {
    const int position = expected.position(name);
    return position < 0 || inst.getOperand(static_cast<unsigned>(position)).getImm() <= limit;
  };
  constexpr int64_t kDword = 6;
  constexpr int64_t kPreserve = 2;
  return at_most(Name::dst_sel, kDword) && at_most(Name::dst_unused, kPreserve) &&
         at_most(Name::src0_sel, kDword) && at_most(Name::src1_sel, kDword);
}

std::string Mc::print(const llvm::MCInst& inst, uint64_t pc) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer_->printInst(&inst, pc, "", *subtarget_, stream);
  stream.flush();
  return text;
}

const OpcodeInfo& Mc::info(unsigned opcode) {
  std::unique_ptr<OpcodeInfo>& slot = infos_[opcode];
  if (!slot) slot = std::make_unique<OpcodeInfo>(make_info(opcode));
  return *slot;
}

OpcodeInfo Mc::make_info(unsigned opcode) const {
  const Shared& shared = shared_state();
  const llvm::MCInstrDesc& desc = shared.instructions->get(opcode);
  const llvm::StringRef llvm_name = shared.instructions->getName(opcode);
  const std::string_view name(llvm_name.data(), llvm_name.size());
  OpcodeInfo info;
  info.encoding = encoding_of(desc.TSFlags, name);

  if (info.encoding == Encoding::kVopd) {
    std::string_view halves = name.substr(std::strlen("V_DUAL_"));
    halves = halves.substr(0, halves.rfind("_gfx"));
    const size_t split = halves.find("_X_");
    info.op = vopd_half(halves.substr(0, split));
    info.op_y = vopd_half(halves.substr(split + 3));
  } else {
    llvm::MCInst probe;
    probe.setOpcode(opcode);
    const char* mnemonic = printer_->getMnemonic(&probe).first;
    std::string_view spelling = mnemonic == nullptr ? "" : mnemonic;
    spelling = spelling.substr(0, spelling.find_first_of(" \t"));
    info.op = find_op(spelling);
  }
  info.family =
      info.op == Op::kInvalid ? Family::kInvalid : family_of(info.encoding, op_name(info.op));
  info.sdwa = (desc.TSFlags & flag::kSdwa) != 0;
  info.dpp = (desc.TSFlags & flag::kDpp) != 0;
  info.atomic_return = (desc.TSFlags & flag::kAtomicReturn) != 0;
  note_memory_form(info, name);
  info.defs = static_cast<uint8_t>(desc.getNumDefs());
  info.implied_reads = implied_registers(desc.implicit_uses(), info.op, info.family);
  info.implied_writes = implied_registers(desc.implicit_defs(), info.op, info.family);
  correct_implied(info);
  info.tied_to.fill(-1);
  for (unsigned i = 0; i < desc.getNumOperands() && i < info.operand_type.size(); ++i) {
    const llvm::MCOperandInfo& operand = desc.operands()[i];
    info.operand_type[i] = static_cast<uint8_t>(source_type(operand.OperandType));
    info.tied_to[i] = static_cast<int8_t>(desc.getOperandConstraint(i, llvm::MCOI::TIED_TO));
    if (operand.RegClass < 0) continue;
    const char* class_name =
        shared.registers->getRegClassName(&shared.registers->getRegClass(operand.RegClass));
    if (std::strstr(class_name, "Lo128") != nullptr) info.lo128 |= uint64_t{1} << i;
    // Lane masks (SReg_1, SReg_1_XEXEC) are as wide as the wave.
    const unsigned bits = shared.registers->getRegClass(operand.RegClass).getSizeInBits();
    const bool is_mask =
        std::string_view(class_name) == "SReg_1" || std::string_view(class_name) == "SReg_1_XEXEC";
    info.register_kinds[i] = allowed_kinds(class_name);
    info.register_dwords[i] = is_mask ? (wave64_ ? 2 : 1) : static_cast<uint8_t>(bits / 32);
  }
  for (size_t i = 0; i < kNameCount; ++i)
    info.at[i] = static_cast<int8_t>(llvm::AMDGPU::getNamedOperandIdx(
        static_cast<uint16_t>(opcode), static_cast<uint16_t>(shared.names[i])));
  return info;
}

const Operand& Mc::reg(unsigned llvm_register) {
  const unsigned number = llvm_register < registers_.size() ? llvm_register : 0;
  Register& known = registers_[number];
  if (!known.is_known) {
    known.operand = register_operand(shared_state().registers->getName(number));
    known.is_known = true;
  }
  return known.operand;
}

bool Mc::names_resolved() { return shared_state().ok; }

int Mc::name_number(Name name) { return shared_state().names[static_cast<size_t>(name)]; }

int Mc::opcode_number(const char* llvm_name) {
  const Shared& shared = shared_state();
  for (unsigned opcode = 0; opcode < shared.instructions->getNumOpcodes(); ++opcode)
    if (shared.instructions->getName(opcode) == llvm_name) return static_cast<int>(opcode);
  return -1;
}

int Mc::operand_type(unsigned opcode, unsigned position) {
  return shared_state().instructions->get(opcode).operands()[position].OperandType;
}

}  // namespace wavetap::isa
