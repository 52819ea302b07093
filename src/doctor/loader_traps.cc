#include "doctor/loader_traps.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/rocm_libraries.h"

namespace wavetap::doctor {
namespace {

// The first library of this stem that the linker finds.
std::optional<FoundLibrary> first_found(const Machine& machine, std::string_view stem) {
  for (const SearchFolder& folder : search_folders(machine)) {
    std::vector<FoundLibrary> found = libraries_in(machine.root, folder.path, {stem});
    if (!found.empty()) return std::move(found.front());
  }
  return std::nullopt;
}

// hipRTC opens libamdhip64.so, the name that distributions keep for their development packages.
void check_plain_name(const Machine& machine, Findings& findings) {
  const std::optional<FoundLibrary> rtc = first_found(machine, "libhiprtc");
  const std::optional<FoundLibrary> hip = first_found(machine, "libamdhip64");
  if (!rtc || !hip) return;
  for (const SearchFolder& folder : search_folders(machine))
    if (machine.root.exists(folder.path + "/libamdhip64.so")) return;
  const std::string folder = hip->path.substr(0, hip->path.rfind('/'));
  findings.warning("rocm.plain-name", "libamdhip64 is there only with a version in its name")
      .saw(hip->path, "no libamdhip64.so in any folder of the linker")
      .saw(rtc->path, "opens libamdhip64.so")
      .because(
          "Kernels cannot be compiled at run time: rocFFT, MIOpen and PyTorch's own kernels fail "
          "with \"hip runtime failed to load\".")
      .as_root(fmt::format("ln -s {} {}/libamdhip64.so    # or the package libamdhip64-dev",
                           hip->elf.soname.empty() ? base_name(hip->path) : hip->elf.soname,
                           folder));
}

// Symbols have no version in a library that links LLVM statically and does not hide them; whoever
// is loaded first answers for all.
void check_llvm_shadow(const Machine& machine, Findings& findings) {
  const std::optional<FoundLibrary> comgr = first_found(machine, "libamd_comgr");
  if (!comgr || !comgr->elf.needs("libLLVM")) return;
  std::vector<std::string> folders;
  for (const SearchFolder& folder : search_folders(machine)) folders.push_back(folder.path);
  for (const std::string& site : find_site_packages(machine))
    folders.push_back(site + "/torch/lib");
  for (const std::string& folder : folders) {
    for (const FoundLibrary& torch : libraries_in(machine.root, folder, {"libtorch_cpu"})) {
      constexpr const char* kSymbol = "LLVMInitializeAMDGPUTargetInfo";
      if (!exports_symbol(machine.root, torch.path, kSymbol)) continue;
      const auto llvm =
          std::find_if(comgr->elf.needed.begin(), comgr->elf.needed.end(),
                       [](const std::string& name) { return name.starts_with("libLLVM"); });
      findings
          .error("rocm.llvm-shadow", fmt::format("{} stands in for LLVM", base_name(torch.path)))
          .saw(torch.path, fmt::format("exports {}", kSymbol))
          .saw(comgr->path, "needs " + *llvm)
          .because(
              "The compiler library registers its target through these functions and gets the "
              "wrong ones: HIP cannot build its copy kernels, no stream can be made, and the first "
              "launch crashes. Real GPUs are hit as well.")
          .advise(fmt::format(
              "load LLVM before torch: LD_PRELOAD={0}, or in Python ctypes.CDLL(\"{0}\", "
              "ctypes.RTLD_GLOBAL)",
              *llvm));
      return;
    }
  }
}

}  // namespace

void check_loader_traps(const Machine& machine, Findings& findings) {
  check_plain_name(machine, findings);
  check_llvm_shadow(machine, findings);
}

void check_miopen_sources(const Machine& machine, Findings& findings) {
  const std::optional<FoundLibrary> miopen = first_found(machine, "libMIOpen");
  if (!miopen) return;
  // A source says .amdhsa_kernel; a solver only names the file.
  constexpr const char* kSource = "igemm_v4r1_dynamic.s";
  const auto found = texts_in_file(machine.root, miopen->path, {kSource, ".amdhsa_kernel"});
  if (!found || !(*found)[0] || (*found)[1]) return;
  const std::string* off = machine.variable("MIOPEN_DEBUG_GCN_ASM_KERNELS");
  if (off != nullptr && *off == "0") return;
  findings.warning("miopen.no-assembly", "MIOpen was built without its assembler kernels")
      .saw(miopen->path, fmt::format("names {} and holds no assembler source", kSource))
      .because("It still chooses them, and convolutions fail when the source is not found.")
      .set("MIOPEN_DEBUG_CONV_IMPLICIT_GEMM", "0")
      .set("MIOPEN_DEBUG_GCN_ASM_KERNELS", "0");
}

}  // namespace wavetap::doctor
