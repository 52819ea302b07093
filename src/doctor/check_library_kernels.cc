// Group 12: do the math libraries carry kernels for this chip? They are looked for where each
// library keeps them: Tensile files of rocBLAS and hipBLASLt, databases of MIOpen, code objects
// inside the others.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codeobj/container.h"
#include "doctor/finding.h"
#include "doctor/isa_families.h"
#include "doctor/rocm_libraries.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// Every gfx name in the names of a folder's files: TensileLibrary_lazy_gfx90a.dat -> gfx90a.
std::set<std::string> targets_in_names(const Root& root, const std::string& folder) {
  std::set<std::string> targets;
  for (const std::string& name : root.list(folder)) {
    const size_t at = name.find("gfx");
    if (at == std::string::npos) continue;
    size_t end = at + 3;
    while (end < name.size() && std::isxdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    // gfx90a78.kdb is gfx90a with 0x78 CUs: the longest prefix that is a target and leaves
    // hexadecimal digits.
    std::string text = name.substr(at, end - at);
    if (name.ends_with(".kdb") || name.ends_with(".fdb.txt")) {
      if (text.starts_with("gfx10") || text.starts_with("gfx11") || text.starts_with("gfx12"))
        text = text.substr(0, 7);
      else text = text.substr(0, 6);
    }
    if (amd::parse_gfx_target(text)) targets.insert(text);
  }
  return targets;
}

std::string listed(const std::set<std::string>& targets) {
  return util::join(std::vector<std::string>(targets.begin(), targets.end()), " ");
}

struct Place {
  std::string library;
  std::string folder;
};

void check_place(const Machine& machine, const Place& place, Findings& findings) {
  const std::set<std::string> targets = targets_in_names(machine.root, place.folder);
  if (targets.empty()) return;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.target) continue;
    const std::string real = gpu.target_name();
    if (targets.contains(real)) {
      findings
          .ok("kernels." + place.library, fmt::format("{} has kernels for {}", place.library, real))
          .saw(place.folder, listed(targets));
      continue;
    }
    const std::string safe = judge_override(*gpu.target, *gpu.target).instead;
    const auto safe_target = parse_override(safe);
    const bool helps = safe_target && targets.contains(amd::to_string(*safe_target));
    Finding& missing = findings.add(place.library == "MIOpen" ? Verdict::kNote : Verdict::kWarning,
                                    "kernels." + place.library,
                                    fmt::format("{} has no kernels for {}", place.library, real));
    missing.saw(place.folder, listed(targets)).saw(gpu.properties_path, real);
    missing.because(place.library == "MIOpen" ? "No ready kernels: every convolution shape is "
                                                "compiled at first use, seconds to minutes each."
                                              : "The first matrix product stops with \"Cannot read "
                                                "TensileLibrary.dat\" or an invalid device "
                                                "function.");
    if (helps) missing.set("HSA_OVERRIDE_GFX_VERSION", safe);
    else
      missing.advise(fmt::format(
          "install a build that carries {}; an override to another family is not safe", real));
  }
}

// Libraries that carry their kernels inside, as fat binaries.
void check_fat_library(const Machine& machine, const std::string& path, Findings& findings) {
  const ScopedFd fd = machine.root.open(path);
  const auto info = machine.root.info(path);
  // Larger ones would cost seconds to read.
  constexpr uint64_t kMaxBytes = 64u << 20;
  if (!fd.valid() || !info || info->size_bytes > kMaxBytes) return;
  std::vector<std::byte> bytes(info->size_bytes);
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n =
        pread(fd.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n <= 0) return;
    got += static_cast<size_t>(n);
  }
  std::set<std::string> targets;
  for (const codeobj::ContainedCodeObject& object :
       codeobj::find_code_objects(bytes).code_objects) {
    if (object.target) targets.insert(amd::to_string(*object.target));
  }
  if (targets.empty()) return;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.target || targets.contains(gpu.target_name())) continue;
    findings
        .note("kernels." + base_name(path),
              fmt::format("{} has no code for {}", base_name(path), gpu.target_name()))
        .saw(path, listed(targets))
        .because("Calls into it fail on this GPU, or use a slower path.");
  }
}

}  // namespace

void check_library_kernels(const Machine& machine, Findings& findings) {
  if (machine.gpus.empty()) {
    findings.unknown("kernels", "no GPU to look for kernels for")
        .saw("/sys/class/kfd/kfd/topology/nodes", "no GPU node");
    return;
  }
  const size_t mark = findings.all().size();
  std::vector<Place> places;
  for (const RocmInstall& install : find_rocm_installs(machine)) {
    places.push_back({"rocBLAS", install.library_folder + "/rocblas/library"});
    places.push_back({"hipBLASLt", install.library_folder + "/hipblaslt/library"});
    places.push_back({"MIOpen", install.root + "/share/miopen/db"});
    for (const char* name : {"librocrand.so", "librocsparse.so", "librocrand.so.1"}) {
      const std::string path = install.library_folder + "/" + name;
      if (machine.root.exists(path)) check_fat_library(machine, machine.root.real(path), findings);
    }
  }
  for (const std::string& site : find_site_packages(machine)) {
    places.push_back({"rocBLAS", site + "/torch/lib/rocblas/library"});
    places.push_back({"hipBLASLt", site + "/torch/lib/hipblaslt/library"});
    places.push_back({"MIOpen", site + "/torch/share/miopen/db"});
  }
  for (const Place& place : places) check_place(machine, place, findings);
  if (findings.all().size() == mark)
    findings.ok("kernels", "no math libraries with kernels of their own")
        .saw("rocBLAS, hipBLASLt, MIOpen", "not installed");
}

}  // namespace wavetap::doctor
