// Where the libraries of ROCm and of layers that imitate it are, installed or mapped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/elf_facts.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

// A ROCm tree: /opt/rocm-6.3.0, or /usr for a distribution's packages.
struct RocmInstall {
  std::string root;     // real path
  std::string version;  // .info/version, else of libhsa-runtime64's file name; may be empty
  std::string library_folder;
};
std::vector<RocmInstall> find_rocm_installs(const Machine& machine);

// Where Python packages are: every site-packages or dist-packages of the system, the user and the
// active environment.
std::vector<std::string> find_site_packages(const Machine& machine);

// Folders the dynamic linker searches: LD_LIBRARY_PATH, ld.so.conf, the standard ones, in this
// order.
struct SearchFolder {
  std::string path;
  std::string said_by;  // "LD_LIBRARY_PATH", "/etc/ld.so.conf.d/rocm.conf", "standard"
};
std::vector<SearchFolder> search_folders(const Machine& machine);

// A library of interest in a folder: every file whose name begins with STEM.so, one per real file.
struct FoundLibrary {
  std::string stem;  // "libamdhip64"
  std::string path;  // real path
  ElfFacts elf;
  std::string version;  // from the file's name
};
std::vector<FoundLibrary> libraries_in(const Root& root, const std::string& folder,
                                       const std::vector<std::string_view>& stems);

// The stems the doctor follows: HIP, HSA, CUDA, MIOpen, rocBLAS.
const std::vector<std::string_view>& followed_stems();

// The first ROCm release that knows the target, "6.0"; empty when every release we support does.
std::string first_rocm_release(amd::GfxTarget target);

// True when a libcuda is not NVIDIA's: it needs or names HIP. `why` says how that shows.
bool is_translation_layer(const Root& root, const ElfFacts& elf, std::string* why);

}  // namespace wavetap::doctor
