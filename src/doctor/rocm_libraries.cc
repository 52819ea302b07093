#include "doctor/rocm_libraries.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// The folders named in ld.so.conf and the files it includes.
void read_linker_configuration(const Root& root, const std::string& path, int depth,
                               std::vector<SearchFolder>& folders) {
  const ReadText text = root.read(path);
  if (!text.ok() || depth > 4) return;
  for (const std::string& raw : lines_of(*text.text)) {
    const std::string line = trimmed(raw.substr(0, raw.find('#')));
    if (line.starts_with("include ")) {
      const std::string pattern = trimmed(line.substr(8));
      if (!pattern.ends_with("/*.conf")) continue;
      const std::string folder = pattern.substr(0, pattern.size() - 7);
      for (const std::string& name : root.list(folder)) {
        if (name.ends_with(".conf"))
          read_linker_configuration(root, folder + "/" + name, depth + 1, folders);
      }
    } else if (line.starts_with('/')) {
      folders.push_back({line, path});
    }
  }
}

std::vector<std::string> standard_folders(const Root& root) {
  std::vector<std::string> folders;
  for (const char* base : {"/usr/lib", "/lib", "/usr/lib64", "/lib64", "/usr/local/lib"}) {
    add_once(folders, root.real(base));
    for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
      const std::string folder = std::string(base) + "/" + triplet;
      if (root.exists(folder)) add_once(folders, root.real(folder));
    }
  }
  return folders;
}

}  // namespace

const std::vector<std::string_view>& followed_stems() {
  static const std::vector<std::string_view> stems = {"libamdhip64", "libhsa-runtime64", "libcuda",
                                                      "libMIOpen", "librocblas"};
  return stems;
}

std::vector<RocmInstall> find_rocm_installs(const Machine& machine) {
  const Root& root = machine.root;
  std::vector<std::string> roots;
  for (const std::string& name : root.list("/opt")) {
    if (name.starts_with("rocm")) add_once(roots, root.real("/opt/" + name));
  }
  for (const char* variable : {"ROCM_PATH", "HIP_PATH"}) {
    if (const std::string* path = machine.variable(variable)) {
      if (root.exists(*path) && path->starts_with('/')) add_once(roots, root.real(*path));
    }
  }
  std::vector<RocmInstall> installs;
  for (const std::string& path : roots) {
    RocmInstall install;
    install.root = path;
    install.version = root.line(path + "/.info/version").value_or("");
    install.library_folder = path + "/lib";
    const auto libraries =
        libraries_in(root, install.library_folder, {"libamdhip64", "libhsa-runtime64"});
    if (install.version.empty() && libraries.empty()) continue;
    installs.push_back(std::move(install));
  }
  for (const std::string& folder : standard_folders(root)) {
    const auto libraries = libraries_in(root, folder, {"libamdhip64", "libhsa-runtime64"});
    if (libraries.empty()) continue;
    installs.push_back({folder, libraries.front().version, folder});
  }
  return installs;
}

std::vector<std::string> find_site_packages(const Machine& machine) {
  const Root& root = machine.root;
  std::vector<std::string> prefixes = {"/usr/lib", "/usr/local/lib", "/opt/conda/lib",
                                       "/opt/venv/lib"};
  if (const std::string* home = machine.variable("HOME")) prefixes.push_back(*home + "/.local/lib");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string* prefix = machine.variable(variable))
      prefixes.push_back(*prefix + "/lib");
  }
  std::vector<std::string> found;
  for (const std::string& prefix : prefixes) {
    for (const std::string& name : root.list(prefix)) {
      if (!name.starts_with("python3")) continue;
      for (const char* kind : {"/site-packages", "/dist-packages"}) {
        const std::string folder = prefix + "/" + name + kind;
        if (root.exists(folder)) add_once(found, root.real(folder));
      }
    }
  }
  return found;
}

std::vector<SearchFolder> search_folders(const Machine& machine) {
  std::vector<SearchFolder> folders;
  if (const std::string* path = machine.variable("LD_LIBRARY_PATH")) {
    for (const std::string& folder : util::split(*path, ':')) {
      if (folder.starts_with('/')) folders.push_back({folder, "LD_LIBRARY_PATH"});
    }
  }
  read_linker_configuration(machine.root, "/etc/ld.so.conf", 0, folders);
  for (const std::string& folder : standard_folders(machine.root))
    folders.push_back({folder, "standard"});
  return folders;
}

std::vector<FoundLibrary> libraries_in(const Root& root, const std::string& folder,
                                       const std::vector<std::string_view>& stems) {
  std::vector<FoundLibrary> found;
  for (const std::string& name : root.list(folder)) {
    for (const std::string_view stem : stems) {
      if (!name.starts_with(std::string(stem) + ".so")) continue;
      const std::string path = root.real(folder + "/" + name);
      const bool seen = std::any_of(found.begin(), found.end(),
                                    [&](const FoundLibrary& other) { return other.path == path; });
      if (seen) continue;
      if (auto elf = read_elf_facts(root, path)) {
        found.push_back(
            {std::string(stem), path, std::move(*elf), version_in_name(base_name(path))});
      }
    }
  }
  return found;
}

std::string first_rocm_release(amd::GfxTarget target) {
  // Release notes of ROCm: 5.4 brings RDNA 3, 6.0 the MI300 series, 6.4 RDNA 4, 7.0 the MI350
  // series.
  if (target.major == 9 && target.minor == 5) return "7.0";
  if (target.major == 12) return "6.4";
  if (target.major == 9 && target.minor == 4) return "6.0";
  if (target.major == 11) return "5.4";
  return "";
}

bool is_translation_layer(const Root& root, const ElfFacts& elf, std::string* why) {
  if (elf.needs("libamdhip64") || elf.needs("libhsa-runtime64")) {
    *why = "needs " + std::string(elf.needs("libamdhip64") ? "libamdhip64" : "libhsa-runtime64");
    return true;
  }
  // ZLUDA loads HIP at run time and keeps its own name in the file.
  const ReadText text = root.read(elf.path);
  if (text.ok() && text.text->find("ZLUDA") != std::string::npos) {
    *why = "contains the name ZLUDA";
    return true;
  }
  return false;
}

}  // namespace wavetap::doctor
