// What ROCm user space is installed here, found without loading any of it.
#pragma once

#include <string>
#include <vector>

#include "amd/gfx_target.h"

namespace wavetap::cli {

// Path of a shared library as the dynamic linker would find it: `first` folders (a program's
// RUNPATH), LD_LIBRARY_PATH, the linker's cache, the standard folders and /opt/rocm/lib. Empty when
// it is nowhere.
std::string find_shared_library(const std::string& name,
                                const std::vector<std::string>& first = {});

// True when ROCr at `path` was built with knowledge of the target: the names of all of them are in
// the file, and a GPU whose name is not makes hsa_init fail.
bool rocr_knows(const std::string& path, amd::GfxTarget target);

}  // namespace wavetap::cli
