// Writes ops.inc and aliases.inc into the folder named on the command line.
//
// LLVM describes an operation once, as a pseudo instruction, and expands it to a real opcode per
// encoding family; each real opcode has its own mnemonic. Mnemonics of one pseudo instruction are
// therefore spellings of one operation. The canonical one is gfx9's where any gfx9 target has the
// operation, else gfx10's, else gfx11's. What LLVM keeps as separate pseudo instructions although
// the operation is the same is merged by the list below.
//
// Run it after a new LLVM, or to add a target: `ninja isa_gen_ops && bin/isa_gen_ops src/isa`.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
}

// Declared in LLVM's private AMDGPUBaseInfo.h.
namespace llvm::AMDGPU {
enum Subtarget : unsigned {};
int getMCOpcodeGen(uint16_t opcode, Subtarget family);
}  // namespace llvm::AMDGPU

namespace {

// LLVM's encoding families, best spelling first: gfx9, its SDWA, gfx8 and gfx9 alike, gfx90a,
// gfx940; gfx10, its SDWA; gfx11. (LLVM's SIEncodingFamily.)
constexpr unsigned kFamilies[] = {5, 3, 1, 8, 9, 6, 7, 10};
constexpr unsigned kFamilyCount = 12;
constexpr size_t kGfx9Families = 5;
constexpr size_t kGfx8Rank = 2;

// One operation, two pseudo instructions.
constexpr std::pair<std::string_view, std::string_view> kMerged[] = {
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_cmp_t_f16", "v_cmp_tru_f16"},
    {"v_cmpx_t_f16", "v_cmpx_tru_f16"},
    {"v_dual_dot2acc_f32_f16", "v_dot2c_f32_f16"},
    {"buffer_load_lds_b32", "buffer_load_dword"},
    {"buffer_load_lds_format_x", "buffer_load_format_x"},
    {"buffer_load_lds_i16", "buffer_load_sshort"},
    {"buffer_load_lds_i8", "buffer_load_sbyte"},
    {"buffer_load_lds_u16", "buffer_load_ushort"},
    {"buffer_load_lds_u8", "buffer_load_ubyte"},
    {"scratch_load_lds_dword", "scratch_load_dword"},
    {"scratch_load_lds_sbyte", "scratch_load_sbyte"},
    {"scratch_load_lds_sshort", "scratch_load_sshort"},
    {"scratch_load_lds_ubyte", "scratch_load_ubyte"},
    {"scratch_load_lds_ushort", "scratch_load_ushort"},
};
// One mnemonic, two operations: gfx10 reuses the name. Neither has semantics here.
constexpr std::string_view kKept[] = {"v_interp_p2_f16"};

struct Group {
  const char* title;
  std::vector<std::string_view> prefixes;
};

const Group kGroups[] = {
    {"Scalar ALU: SOP1, SOP2, SOPK, SOPC; SOPP; SMEM", {"s_"}},
    {"Vector compares: VOPC", {"v_cmp_", "v_cmpx_"}},
    {"Matrix: MFMA, SMFMAC, WMMA", {"v_mfma", "v_smfmac", "v_wmma"}},
    {"Vector ALU: VOP1, VOP2, VOP3, VOP3P, interpolation", {"v_"}},
    {"LDS and GDS", {"ds_", "lds_"}},
    {"Flat, global, scratch", {"flat_", "global_", "scratch_"}},
    {"Buffers", {"buffer_", "tbuffer_"}},
    {"Images", {"image_"}},
    {"Export", {"exp"}},
};

// The opcode a pseudo instruction expands to in an encoding family, or -1.
int real_opcode(unsigned pseudo, unsigned family) {
  const int real = llvm::AMDGPU::getMCOpcodeGen(static_cast<uint16_t>(pseudo),
                                                static_cast<llvm::AMDGPU::Subtarget>(family));
  return real == 0xffff ? -1 : real;
}

std::string spelling_of(llvm::MCInstPrinter& printer, unsigned opcode) {
  llvm::MCInst inst;
  inst.setOpcode(opcode);
  const char* text = printer.getMnemonic(&inst).first;
  std::string spelling = text == nullptr ? "" : text;
  spelling = spelling.substr(0, spelling.find_first_of(" \t"));
  for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp8", "_dpp"}) {
    if (!std::string_view(spelling).ends_with(suffix)) continue;
    spelling.resize(spelling.size() - suffix.size());
    break;
  }
  return spelling;
}

class Generator {
 public:
  explicit Generator(const llvm::MCInstrInfo& instructions, llvm::MCInstPrinter& printer)
      : instructions_(instructions), printer_(printer) {}

  // Spelling -> canonical name, for every spelling.
  std::map<std::string, std::string> run() {
    read_pseudos();
    std::map<std::string, std::string> canonical;
    for (const auto& [spelling, names] : candidates_) canonical[spelling] = choose(spelling, names);
    for (const std::string_view kept : kKept) canonical[std::string(kept)] = kept;
    add_opcodes_without_pseudo(canonical);
    for (const auto& [from, to] : kMerged) canonical[std::string(from)] = to;
    for (auto& [spelling, name] : canonical)
      while (canonical[name] != name) name = canonical[name];
    return canonical;
  }

 private:
  void read_pseudos() {
    for (unsigned opcode = 0; opcode < instructions_.getNumOpcodes(); ++opcode) {
      for (unsigned family = 0; family < kFamilyCount; ++family) {
        const int real = real_opcode(opcode, family);
        if (real >= 0) mapped_.insert(static_cast<unsigned>(real));
      }
      std::vector<std::pair<size_t, std::string>> spellings;  // rank, spelling
      for (size_t rank = 0; rank < std::size(kFamilies); ++rank) {
        const int real = real_opcode(opcode, kFamilies[rank]);
        if (real < 0) continue;
        // gfx8's spelling does not count where gfx9 has its own (v_add_u32 changed its meaning).
        if (rank == kGfx8Rank && !spellings.empty()) continue;
        spellings.emplace_back(rank, spelling_of(printer_, static_cast<unsigned>(real)));
      }
      for (const auto& [rank, spelling] : spellings) {
        candidates_[spelling].insert(spellings.front().second);
        if (rank < kGfx9Families) gfx9_.insert(spelling);
      }
    }
  }

  std::string choose(const std::string& spelling, const std::set<std::string>& names) const {
    if (names.size() == 1) return *names.begin();
    if (gfx9_.contains(spelling) && names.contains(spelling)) return spelling;
    for (const std::string& name : names)
      if (name != spelling && gfx9_.contains(name)) return name;
    for (const std::string& name : names)
      if (name != spelling) return name;
    return spelling;
  }

  // Images, VOPD pairs and some DPP forms have no pseudo instruction; the suffix of the opcode's
  // name tells the target.
  void add_opcodes_without_pseudo(std::map<std::string, std::string>& canonical) {
    for (unsigned opcode = 0; opcode < instructions_.getNumOpcodes(); ++opcode) {
      if (mapped_.contains(opcode) || instructions_.get(opcode).isPseudo()) continue;
      const llvm::StringRef raw = instructions_.getName(opcode);
      const std::string_view name(raw.data(), raw.size());
      if (name.find("gfx12") != std::string_view::npos) continue;
      bool wanted = name.starts_with("IMAGE");
      for (const std::string_view suffix :
           {"_vi", "_gfx9", "_gfx90a", "_gfx940", "_gfx10", "_gfx11"})
        wanted = wanted || name.ends_with(suffix);
      const std::string spelling = spelling_of(printer_, opcode);
      if (!wanted || spelling.empty()) continue;
      const std::string half = "v_" + spelling.substr(std::min<size_t>(spelling.size(), 7));
      const bool is_dual = spelling.starts_with("v_dual_") && canonical.contains(half);
      canonical.emplace(spelling, is_dual ? half : spelling);
    }
  }

  const llvm::MCInstrInfo& instructions_;
  llvm::MCInstPrinter& printer_;
  std::map<std::string, std::set<std::string>> candidates_;
  std::set<std::string> gfx9_;
  std::set<unsigned> mapped_;
};

std::FILE* open_output(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file != nullptr) return file;
  std::fprintf(stderr, "isa_gen_ops: cannot write %s\n", path.c_str());
  std::exit(1);
}

void write_ops(const std::string& path, std::set<std::string> names) {
  std::FILE* out = open_output(path);
  std::fputs(
      "// Every operation of gfx9 (gfx906, gfx908, gfx90a, gfx942), gfx10 and gfx11, once. Made "
      "by\n"
      "// gen_ops_main.cc.\n"
      "//\n"
      "// Naming rule: the gfx9 assembler mnemonic without its encoding suffix (_e32, _e64, _dpp, "
      "_sdwa) "
      "where\n"
      "// any gfx9 target has the operation, else gfx10's, else gfx11's. Two spellings are one "
      "operation "
      "exactly\n"
      "// when LLVM expands one pseudo instruction to both; aliases.inc lists the other "
      "spellings.\n",
      out);
  for (const Group& group : kGroups) {
    std::fprintf(out, "\n// %s.\n", group.title);
    for (auto it = names.begin(); it != names.end();) {
      const bool inside =
          std::any_of(group.prefixes.begin(), group.prefixes.end(),
                      [&](std::string_view prefix) { return it->starts_with(prefix); });
      if (inside) std::fprintf(out, "WT_OP(%s)\n", it->c_str());
      it = inside ? names.erase(it) : std::next(it);
    }
  }
  std::fclose(out);
  for (const std::string& name : names)
    std::fprintf(stderr, "isa_gen_ops: %s belongs to no group\n", name.c_str());
}

void write_aliases(const std::string& path, const std::map<std::string, std::string>& canonical) {
  std::FILE* out = open_output(path);
  std::fputs(
      "// Spellings that differ from the canonical name of ops.inc: WT_ALIAS(spelling, canonical). "
      "The "
      "v_dual_\n"
      "// entries are the halves of gfx11's VOPD pairs. Made by gen_ops_main.cc.\n",
      out);
  for (const auto& [spelling, name] : canonical)
    if (spelling != name) std::fprintf(out, "WT_ALIAS(%s, %s)\n", spelling.c_str(), name.c_str());
  std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: isa_gen_ops FOLDER\n");
    return 1;
  }
  constexpr const char* kTriple = "amdgcn-amd-amdhsa";
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  const llvm::MCInstrInfo* instructions = target->createMCInstrInfo();
  const llvm::MCRegisterInfo* registers = target->createMCRegInfo(kTriple);
  const llvm::MCAsmInfo* assembly =
      target->createMCAsmInfo(*registers, kTriple, llvm::MCTargetOptions());
  llvm::MCInstPrinter* printer =
      target->createMCInstPrinter(llvm::Triple(kTriple), 0, *assembly, *instructions, *registers);
  const std::map<std::string, std::string> canonical = Generator(*instructions, *printer).run();
  std::set<std::string> names;
  for (const auto& [spelling, name] : canonical) names.insert(name);
  write_ops(std::string(argv[1]) + "/ops.inc", names);
  write_aliases(std::string(argv[1]) + "/aliases.inc", canonical);
  return 0;
}
