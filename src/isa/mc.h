// Mc: LLVM's AMDGPU machine-code layer for one target and wave size, and what we add to it:
// per-opcode facts (canonical operation, encoding family, where each operand sits) and the register
// table.
//
// Private to isa/. LLVM's headers stay in the .cc files of this folder.
//
// LLVM keeps the AMDGPU opcode and operand-name enumerations private. Two things replace them:
//   * opcodes are known by name (MCInstrInfo::getName) and by mnemonic
//     (MCInstPrinter::getMnemonic);
//   * operand names are numbers given to llvm::AMDGPU::getNamedOperandIdx(). The number of a name
//     is found at start-up by asking which number yields a known position of a known opcode
//     (names.inc): V_ADD_F32_e64_vi has src1_modifiers at position 3, so src1_modifiers is the
//     number that answers 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "isa/inst.h"

namespace llvm {
class MCAsmInfo;
class MCContext;
class MCDisassembler;
class MCInst;
class MCInstPrinter;
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
class Target;
}  // namespace llvm

namespace wavetap::isa {

// Operand names of LLVM's instruction tables that the decoder asks for.
enum class Name : uint8_t {
#define WT_OPERAND_NAME(name, opcode, position) name,
#include "isa/names.inc"
#undef WT_OPERAND_NAME
  kCount
};
inline constexpr size_t kNameCount = static_cast<size_t>(Name::kCount);

enum class Encoding : uint8_t {
  kNone,
  kSop1,
  kSop2,
  kSopk,
  kSopc,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kVopd,
  kVinterp,
  kDs,
  kFlat,
  kMubuf,
  kMtbuf,
  kMimg,
  kOther,  // exports, LDS parameter loads
};

// What is known of one LLVM opcode. Made when the opcode is first met.
struct OpcodeInfo {
  Op op = Op::kInvalid;
  Op op_y = Op::kInvalid;  // VOPD: the second half
  Family family = Family::kInvalid;
  Encoding encoding = Encoding::kNone;
  bool sdwa = false;
  bool dpp = false;  // DPP16 or DPP8
  bool lds = false;  // a load that goes to LDS, or a store that comes from it
  bool offen = false, idxen = false, addr64 = false, tfe = false;
  bool atomic_return = false;
  bool flat_segment = false;  // flat_*: the offset is unsigned before gfx12
  uint8_t defs = 0;           // leading operands that are results
  uint8_t implied_reads = 0;  // of implied::
  uint8_t implied_writes = 0;
  // Bit i: operand i is a 16-bit VGPR operand limited to v0..v127 (gfx11).
  uint64_t lo128 = 0;
  std::array<int8_t, kNameCount> at{};        // position of each named operand, -1 when absent
  std::array<uint8_t, 32> operand_type{};     // SourceType of each operand
  std::array<int8_t, 32> tied_to{};           // the result each operand repeats, or -1
  std::array<uint8_t, 32> register_dwords{};  // size of a register operand; 0 when it may vary
  // Bit k: OperandKind k is allowed; 0 for no register operand.
  std::array<uint8_t, 32> register_kinds{};

  int position(Name name) const { return at[static_cast<size_t>(name)]; }
  bool has(Name name) const { return position(name) >= 0; }
};

// One thread at a time: McLease hands instances out.
class Mc {
 public:
  // Decodes the instruction at the start of `code` into `inst`. False when there is none, or when
  // LLVM read one that names registers of the wrong kind or size (a reserved encoding). Sets
  // `size_bytes` on success.
  bool decode(std::span<const std::byte> code, llvm::MCInst& inst, unsigned& size_bytes);
  std::string print(const llvm::MCInst& inst, uint64_t pc);

  const OpcodeInfo& info(unsigned opcode);
  // An LLVM register as our operand (kind, index, dwords, sel); kNone for registers we do not
  // model.
  const Operand& reg(unsigned llvm_register);

  amd::GfxTarget target() const { return target_; }
  bool wave64() const { return wave64_; }

  // For the self-check: whether every name of names.inc was found, and the number it has.
  static bool names_resolved();
  static int name_number(Name name);
  static int opcode_number(const char* llvm_name);
  static int operand_type(unsigned opcode, unsigned position);

 private:
  friend class McLease;
  Mc(amd::GfxTarget target, bool wave64);
  OpcodeInfo make_info(unsigned opcode) const;
  bool operands_fit(const llvm::MCInst& inst);
  bool sdwa_fits(const llvm::MCInst& inst);

  amd::GfxTarget target_;
  bool wave64_;
  llvm::MCSubtargetInfo* subtarget_ = nullptr;
  llvm::MCContext* context_ = nullptr;
  llvm::MCDisassembler* disassembler_ = nullptr;
  llvm::MCInstPrinter* printer_ = nullptr;
  std::vector<std::unique_ptr<OpcodeInfo>> infos_;
  struct Register {
    Operand operand;
    bool is_known = false;
  };
  std::vector<Register> registers_;  // by LLVM's number; made when first met
};

// An Mc for (target, wave size), this thread's until the lease ends. There are as many as threads
// have ever decoded for that target at once; they are made at need and never freed. Thread-safe.
class McLease {
 public:
  McLease(amd::GfxTarget target, bool wave64);
  ~McLease();
  McLease(const McLease&) = delete;
  McLease& operator=(const McLease&) = delete;

  // Null when LLVM does not know the target.
  Mc* get() const { return mc_; }

 private:
  Mc* mc_ = nullptr;
};

}  // namespace wavetap::isa
