#include "doctor/process_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "util/text.h"

namespace wavetap::doctor {

Result<std::vector<std::string>> mapped_files(const Root& root, int pid) {
  const std::string path = fmt::format("/proc/{}/maps", pid);
  const ReadText text = root.read(path);
  if (!text.ok())
    return errorf("%s: %s; is the process running, and yours?", path.c_str(),
                  text.reason().c_str());
  std::vector<std::string> files;
  for (const std::string& line : lines_of(*text.text)) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    std::string file = line.substr(slash);
    if (file.ends_with(" (deleted)")) file.resize(file.size() - 10);
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }
  return files;
}

std::vector<std::string> loaded_files(const std::string& folder) {
  const Root root;
  std::vector<std::string> files;
  for (const std::string& name : root.list(folder)) {
    const ReadText text = root.read(folder + "/" + name);
    if (!text.ok()) continue;
    for (const std::string& line : lines_of(*text.text)) {
      const size_t at = line.find("calling init: /");
      if (at == std::string::npos) continue;
      const std::string file = line.substr(at + 14);
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
    }
  }
  return files;
}

std::vector<FoundLibrary> followed_libraries(const Root& root,
                                             const std::vector<std::string>& paths) {
  std::vector<FoundLibrary> found;
  for (const std::string& path : paths) {
    const std::string name = base_name(path);
    for (const std::string_view stem : followed_stems()) {
      if (!name.starts_with(std::string(stem) + ".so") &&
          !name.starts_with(std::string(stem) + "-"))
        continue;
      const std::string real = root.real(path);
      const bool seen = std::any_of(found.begin(), found.end(),
                                    [&](const FoundLibrary& other) { return other.path == real; });
      if (seen) continue;
      ElfFacts elf = read_elf_facts(root, real).value_or(ElfFacts{real, "", "", {}, {}});
      found.push_back({std::string(stem), real, std::move(elf), version_in_name(base_name(real))});
    }
  }
  return found;
}

void judge_libraries(const Root& root, const std::string& process,
                     const std::vector<FoundLibrary>& libraries, Findings& findings) {
  findings.enter_group(kLibraryGroup);
  if (libraries.empty()) {
    findings.note("libraries", process + " maps no ROCm or CUDA library")
        .saw(process, "none of libamdhip64, libhsa-runtime64, libcuda, libMIOpen, librocblas")
        .because("It does not use the GPU, or has not loaded its libraries yet.");
    return;
  }
  const auto describe = [](const FoundLibrary& library) {
    return fmt::format("soname {}, version {}, build-id {}",
                       library.elf.soname.empty() ? "-" : library.elf.soname,
                       library.version.empty() ? "-" : library.version,
                       library.elf.build_id.empty() ? "-" : library.elf.build_id);
  };
  std::map<std::string, std::vector<const FoundLibrary*>> copies;
  for (const FoundLibrary& library : libraries) copies[library.stem].push_back(&library);
  bool clean = true;
  for (const auto& [stem, list] : copies) {
    if (list.size() < 2) continue;
    clean = false;
    Finding& twice = findings.error(
        "libraries.twice", fmt::format("{} maps {} copies of {}", process, list.size(), stem));
    for (const FoundLibrary* library : list) twice.saw(library->path, describe(*library));
    twice
        .because(
            "Two copies are two runtimes: streams, pointers and modules of one are unknown to the "
            "other.")
        .advise(
            "make one of them go: LD_LIBRARY_PATH, a wheel's own lib folder and RUNPATH are the "
            "usual sources");
  }
  for (const FoundLibrary& library : libraries) {
    std::string why;
    if (library.stem != "libcuda" || !is_translation_layer(root, library.elf, &why)) continue;
    clean = false;
    findings
        .warning("libraries.translation-layer",
                 process + " gets CUDA from a translation layer on HIP")
        .saw(library.path, fmt::format("{}; {}", describe(library), why))
        .because("Device figures and unsupported calls are the layer's; see the device truth.")
        .advise("use the ROCm build of the program when there is one");
  }
  Finding& list =
      findings.add(clean ? Verdict::kOk : Verdict::kNote, "libraries",
                   fmt::format("{} maps {}", process,
                               libraries.size() == 1
                                   ? "1 library of interest"
                                   : fmt::format("{} libraries of interest", libraries.size())));
  for (const FoundLibrary& library : libraries) list.saw(library.path, describe(library));
  list.because("These are the files behind the calls.");
}

}  // namespace wavetap::doctor
