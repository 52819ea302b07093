#include "cli/preflight.h"

#include <algorithm>
#include <cstdlib>

#include "cli/elf_needs.h"
#include "cli/rocm.h"
#include "codeobj/container.h"
#include "doctor/rocm_libraries.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr const char* kHipLibrary = "libamdhip64.so";
constexpr const char* kRocrLibrary = "libhsa-runtime64.so";

// The runtime a program asks for by name must be somewhere.
Status check_library(const std::string& program, const ElfNeeds& needs, const char* stem,
                     const char* package) {
  const std::string library = needs.find(stem);
  if (library.empty() || !find_shared_library(library, needs.search_path).empty()) return {};
  return errorf("%s: needs %s, which is not installed; install ROCm (Debian: apt-get install %s)",
                program.c_str(), library.c_str(), package);
}

// ROCr refuses to start when it meets a GPU it has no name for.
Status check_targets(const std::string& rocr, const std::vector<model::Model>& models) {
  for (const model::Model& model : models) {
    if (rocr_knows(rocr, model.target)) continue;
    const std::string release = doctor::first_rocm_release(model.target);
    return errorf("%s: the installed ROCr (%s) does not know %s; %s, or choose another model",
                  model.name.c_str(), rocr.c_str(), amd::to_string(model.target).c_str(),
                  release.empty() ? "install a newer ROCm"
                                  : ("install ROCm " + release + " or newer").c_str());
  }
  return {};
}

// HIP before 6 aborts when a program carries device code, but none for a device it sees; later ones
// fail at the first launch on that device. Code for xnack+ does not run here: the models have xnack
// off.
Status check_code(const std::string& program, std::span<const std::byte> file,
                  const std::vector<model::Model>& models) {
  if (std::getenv("HIP_VISIBLE_DEVICES") != nullptr ||
      std::getenv("ROCR_VISIBLE_DEVICES") != nullptr)
    return {};
  std::vector<std::string> carried;
  const codeobj::ContainerContents contents = codeobj::find_code_objects(file);
  for (const codeobj::ContainedCodeObject& object : contents.code_objects) {
    if (std::find(carried.begin(), carried.end(), object.target_id) == carried.end())
      carried.push_back(object.target_id);
  }
  for (const model::Model& model : models) {
    const bool has_code =
        std::any_of(carried.begin(), carried.end(), [&](const std::string& target_id) {
          return amd::parse_gfx_target(target_id) == model.target &&
                 target_id.find("xnack+") == std::string::npos;
        });
    if (carried.empty() || has_code) continue;
    const std::string target = amd::to_string(model.target);
    return errorf(
        "%s: has no code for %s (%s), only for %s; rebuild it with --offload-arch=%s or choose "
        "another model",
        program.c_str(), target.c_str(), model.name.c_str(), util::join(carried, ", ").c_str(),
        target.c_str());
  }
  return {};
}

}  // namespace

Status check_program(const std::string& program_path, const std::vector<model::Model>& models,
                     std::vector<Error>& warnings) {
  const Result<std::vector<std::byte>> file = util::read_file(program_path);
  if (!file.ok()) return {};  // execute-only programs exist; let it start
  const std::optional<ElfNeeds> needs = elf_needs(*file, program_path);
  const bool uses_rocm =
      needs && (!needs->find(kHipLibrary).empty() || !needs->find(kRocrLibrary).empty());
  if (uses_rocm) {
    Status status = check_library(program_path, *needs, kHipLibrary, "libamdhip64-5");
    if (status.ok())
      status = check_library(program_path, *needs, kRocrLibrary, "libhsa-runtime64-1");
    if (!status.ok()) return status;
  }

  const std::string rocr = find_shared_library(
      "libhsa-runtime64.so.1", needs ? needs->search_path : std::vector<std::string>{});
  if (!rocr.empty()) {
    const Status known = check_targets(rocr, models);
    if (!known.ok() && uses_rocm) return known;
    if (!known.ok()) warnings.push_back(known.error());
  }
  if (uses_rocm) {
    const Status carried = check_code(program_path, *file, models);
    const bool aborts = needs->find(kHipLibrary) <= std::string(kHipLibrary) + ".5";
    if (!carried.ok() && aborts) return carried;
    if (!carried.ok()) warnings.push_back(carried.error());
  }
  return {};
}

}  // namespace wavetap::cli
