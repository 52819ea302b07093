// Group 10: which ROCm is installed, once or several times, and which copy a program would get.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doctor/finding.h"
#include "doctor/loader_traps.h"
#include "doctor/rocm_libraries.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// "6.3.0-60304" and "6.3.60304" are both 6.3.
std::string short_version(const std::string& version) {
  const size_t first = version.find('.');
  if (first == std::string::npos) return version;
  return version.substr(0, version.find_first_of(".-", first + 1));
}

std::string found_text(const FoundLibrary& library) {
  return fmt::format(
      "{}{}", library.elf.soname.empty() ? "no soname" : library.elf.soname,
      library.elf.build_id.empty() ? "" : ", build-id " + library.elf.build_id.substr(0, 12));
}

// The copies of one library in the linker's order; more than one real file is a mixture.
void check_duplicates(const Machine& machine, Findings& findings) {
  std::map<std::string, std::vector<std::pair<std::string, FoundLibrary>>> copies;
  for (const SearchFolder& folder : search_folders(machine)) {
    for (FoundLibrary& library :
         libraries_in(machine.root, folder.path,
                      {"libamdhip64", "libhsa-runtime64", "libMIOpen", "librocblas"})) {
      auto& list = copies[library.stem];
      const bool seen = std::any_of(list.begin(), list.end(), [&](const auto& other) {
        return other.second.path == library.path;
      });
      if (!seen) list.emplace_back(folder.said_by, std::move(library));
    }
  }
  for (const auto& [stem, list] : copies) {
    if (list.size() < 2) continue;
    const std::string& first_id = list.front().second.elf.build_id;
    const bool same = std::all_of(list.begin(), list.end(), [&](const auto& copy) {
      return !first_id.empty() && copy.second.elf.build_id == first_id;
    });
    if (same) continue;
    Finding& mixed = findings.error(
        "rocm.mixed", fmt::format("the linker finds {} different copies of {}", list.size(), stem));
    for (const auto& [said_by, library] : list)
      mixed.saw(library.path, fmt::format("{}; by {}", found_text(library), said_by));
    mixed.because(
        "A process that maps two of them has two runtimes with separate state: handles of one mean "
        "nothing to the other, and the kernels of a library may not fit its runtime.");
    const std::string* rocm_path = machine.variable("ROCM_PATH");
    const std::string first =
        list.front().second.path.substr(0, list.front().second.path.rfind('/'));
    mixed.set("LD_LIBRARY_PATH",
              rocm_path != nullptr ? machine.root.real(*rocm_path) + "/lib" : first);
    mixed.advise("keep one ROCm in LD_LIBRARY_PATH and /etc/ld.so.conf.d");
  }
}

void check_paths(const Machine& machine, const std::vector<RocmInstall>& installs,
                 Findings& findings) {
  for (const char* variable : {"ROCM_PATH", "HIP_PATH"}) {
    const std::string* path = machine.variable(variable);
    if (path == nullptr) continue;
    if (!machine.root.exists(*path)) {
      findings.warning("rocm.path", fmt::format("{} names a folder that does not exist", variable))
          .saw("environment", fmt::format("{}={}", variable, *path))
          .because("Build tools look there first.")
          .unset(variable);
    }
  }
  const std::string* rocm_path = machine.variable("ROCM_PATH");
  if (rocm_path == nullptr) return;
  const std::string root = machine.root.real(*rocm_path);
  struct List {
    const char* variable;
    const char* right;  // below ROCM_PATH
    const char* why;
  };
  constexpr List kLists[] = {
      {"LD_LIBRARY_PATH", "/lib", "Programs are built with one release and run with another."},
      {"PATH", "/bin", "Tools such as hipcc are of one release, the libraries of another."}};
  for (const auto& [variable, right, why] : kLists) {
    const std::string* list = machine.variable(variable);
    if (list == nullptr) continue;
    for (const std::string& folder : util::split(*list, ':')) {
      const std::string real = machine.root.real(folder);
      for (const RocmInstall& install : installs) {
        if (install.root == root || !real.starts_with(install.root + "/") ||
            !install.root.starts_with("/opt/"))
          continue;
        Finding& mixed =
            findings
                .warning("rocm.path", fmt::format("{} is of {} and ROCM_PATH of {}", variable,
                                                  base_name(install.root), base_name(root)))
                .saw("environment", fmt::format("{}={}", variable, *list))
                .saw("environment", "ROCM_PATH=" + *rocm_path)
                .because(why);
        // The rest of PATH is needed.
        if (std::string_view(variable) == "PATH") mixed.advise("put " + root + right + " in front");
        else mixed.set(variable, root + right);
      }
    }
  }
}

bool older(const std::string& version, const std::string& than) {
  const std::vector<std::string> a = util::split(version, '.'), b = util::split(than, '.');
  for (size_t i = 0; i < 2 && i < a.size() && i < b.size(); ++i) {
    const auto left = util::parse_unsigned(a[i]), right = util::parse_unsigned(b[i]);
    if (!left || !right) return false;
    if (*left != *right) return *left < *right;
  }
  return false;
}

}  // namespace

void check_rocm_installs(const Machine& machine, Findings& findings) {
  const std::vector<RocmInstall> installs = find_rocm_installs(machine);
  if (installs.empty()) {
    findings.note("rocm.installs", "no system-wide ROCm")
        .saw("/opt/rocm*, library folders", "no libhsa-runtime64, no libamdhip64")
        .because("Python wheels bring their own; everything else needs one.")
        .as_root("apt-get install libamdhip64-5 rocminfo    # Debian 12, or AMD's packages");
  }
  for (const RocmInstall& install : installs) {
    const std::string version = install.version.empty() ? "unknown version" : install.version;
    findings.ok("rocm.installs", fmt::format("ROCm {} in {}", version, install.root))
        .saw(install.root, version);
    // Version numbers of a distribution's libraries are not ROCm's.
    if (!install.root.starts_with("/opt/") || install.version.empty()) continue;
    for (const Gpu& gpu : machine.gpus) {
      if (!gpu.target || !older(short_version(install.version), first_rocm_release(*gpu.target)))
        continue;
      findings
          .error("rocm.too-old",
                 fmt::format("ROCm {} does not know {}", install.version, gpu.target_name()))
          .saw(install.root + "/.info/version", install.version)
          .saw(gpu.properties_path, gpu.target_name())
          .because("hsa_init fails, or the GPU is left out.")
          .advise(fmt::format("install ROCm {} or newer", first_rocm_release(*gpu.target)));
    }
  }
  check_duplicates(machine, findings);
  check_paths(machine, installs, findings);
  check_loader_traps(machine, findings);

  for (const SearchFolder& folder : search_folders(machine)) {
    for (const FoundLibrary& library :
         libraries_in(machine.root, folder.path, {"libcuda", "libnvcuda"})) {
      std::string why;
      if (!is_translation_layer(machine.root, library.elf, &why)) continue;
      findings
          .warning("rocm.translation-layer",
                   "CUDA calls are answered by a translation layer on HIP")
          .saw(library.path,
               fmt::format("{}; {}; found by {}", found_text(library), why, folder.said_by))
          .because(
              "Programs built for CUDA run, with device figures the layer makes up (compute "
              "capability, multiprocessors, clock). Those that choose kernels or grid sizes by "
              "them choose for another GPU.")
          .run("wavetap doctor    # CUDA's figures beside HIP's and the driver's")
          .advise("use the ROCm build of the program when there is one");
      return;
    }
  }
}

}  // namespace wavetap::doctor
