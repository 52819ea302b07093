#include "cli/preflight.h"

#include <cstdlib>

#include "cli/elf_needs.h"
#include "cli/rocm.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

constexpr const char* kHipLibrary = "libamdhip64.so";
constexpr const char* kRocrLibrary = "libhsa-runtime64.so";

// The runtime a program asks for by name must be somewhere.
Status check_library(const std::string& program, const ElfNeeds& needs, const char* stem, const char* package) {
  const std::string library = needs.find(stem);
  if (library.empty() || !find_shared_library(library, needs.search_path).empty()) return {};
  return errorf("%s: needs %s, which is not installed; install ROCm (Debian: apt-get install %s)", program.c_str(),
                library.c_str(), package);
}

// ROCr refuses to start when it meets a GPU it has no name for.
Status check_targets(const std::string& rocr, const std::vector<vgpu::Model>& models) {
  for (const vgpu::Model& model : models) {
    if (rocr_knows(rocr, model.target)) continue;
    const std::string release = first_rocm_release(model.target);
    return errorf("%s: the installed ROCr (%s) does not know %s; %s, or choose another model", model.name.c_str(),
                  rocr.c_str(), amd::to_string(model.target).c_str(),
                  release.empty() ? "install a newer ROCm" : ("install ROCm " + release + " or newer").c_str());
  }
  return {};
}

}  // namespace

Status check_program(const std::string& program_path, const std::vector<vgpu::Model>& models,
                     std::vector<Error>& warnings) {
  const Result<std::vector<std::byte>> file = util::read_file(program_path);
  if (!file.ok()) return {};  // execute-only programs exist; let it start
  const std::optional<ElfNeeds> needs = elf_needs(*file, program_path);
  const bool uses_rocm = needs && (!needs->find(kHipLibrary).empty() || !needs->find(kRocrLibrary).empty());
  if (uses_rocm) {
    Status status = check_library(program_path, *needs, kHipLibrary, "libamdhip64-5");
    if (status.ok()) status = check_library(program_path, *needs, kRocrLibrary, "libhsa-runtime64-1");
    if (!status.ok()) return status;
  }

  const std::string rocr =
      find_shared_library("libhsa-runtime64.so.1", needs ? needs->search_path : std::vector<std::string>{});
  if (!rocr.empty()) {
    const Status known = check_targets(rocr, models);
    if (!known.ok() && uses_rocm) return known;
    if (!known.ok()) warnings.push_back(known.error());
  }
  return {};
}

}  // namespace wavetap::cli
